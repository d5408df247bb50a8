import { COMPARE_AND_SET, COMPARE_AND_SET_SHA } from "../commit/compare_and_set.ts";
import type { Connection } from "../clients/connection.ts";
import { timeOf } from "./server_clock.ts";
import { hasReplies, roundTrip } from "./round_trip.ts";
import { firstError } from "../failures/batch_failure.ts";
import { STATE_TRANSITIONS, STATE_TRANSITIONS_SHA } from "../script/state_transitions.ts";
import type { Commit } from "../commit/choose_commit.ts";
import type { StoreContext } from "../store_context.ts";

/** A connection of the store to one node. */
export interface NodeConnection {
  readonly connection: Connection;
  /** How batches are committed on it. */
  readonly commit: Commit;
  /** Whether keys of an earlier batch are still watched on it. */
  watching: boolean;
}

/** The scripts of the modes that need one. */
const SCRIPTS = {
  script: [STATE_TRANSITIONS, STATE_TRANSITIONS_SHA],
  cas: [COMPARE_AND_SET, COMPARE_AND_SET_SHA],
} as const;

/** The modes of `"auto"`, the best one first. */
const AUTO: readonly Commit[] = ["script", "cas", "watch"];

/**
 * Finds out how to commit on a new connection: as the options say, or with `"auto"` by the first mode
 * that the server permits. A script's reply is also the first sample of the server's time.
 */
export async function prepareConnection(
  connection: Connection,
  context: StoreContext,
): Promise<NodeConnection> {
  const { commit } = context;
  let refusal: Error | undefined;
  for (const mode of commit === "auto" ? AUTO : [commit]) {
    if (mode === "watch" && connection.isShared === true) break;
    refusal = mode === "watch" ? undefined : await refusalOf(connection, mode, context);
    if (refusal === undefined) return { connection, commit: mode, watching: false };
    if (!isForbidden(refusal)) break;
  }
  throw refusal!;
}

/** Tries a mode's script by its text and by its name; what the server has against it, if anything. */
async function refusalOf(
  connection: Connection,
  mode: "cas" | "script",
  { clock, connectDeadline }: StoreContext,
): Promise<Error | undefined> {
  const [text, sha] = SCRIPTS[mode];
  const start = performance.now();
  const calls = [["EVAL", text, "0"], ["EVALSHA", sha, "0"]];
  const replies = await roundTrip(connection, calls, connectDeadline);
  if (!hasReplies(replies)) throw replies.error;
  const refusal = firstError(replies);
  if (refusal === undefined) clock.sample(timeOf(replies[0]), start, performance.now());
  return refusal;
}

/** Whether scripts are not permitted, or not as they are on a Redis server. */
function isForbidden({ message }: Error): boolean {
  return /^(NOPERM|ERR)\b/.test(message);
}
