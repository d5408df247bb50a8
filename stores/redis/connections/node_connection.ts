import { COMPARE_AND_SET } from "../commit/compare_and_set.ts";
import type { Connection } from "../clients/connection.ts";
import { timeOf } from "./server_clock.ts";
import { hasReplies, roundTrip } from "./round_trip.ts";
import type { StoreContext } from "../store_context.ts";

/** How batches are committed. */
export type Commit = "watch" | "cas";

/** A connection of the store to one node. */
export interface NodeConnection {
  readonly connection: Connection;
  /** How batches are committed on it. */
  readonly commit: Commit;
  /** Whether keys of an earlier batch are still watched on it. */
  watching: boolean;
}

/**
 * Finds out how to commit on a new connection: as the options say, or with `"auto"` by the script if
 * the server lets us run it. The script's reply is also the first sample of the server's time.
 */
export async function prepareConnection(
  connection: Connection,
  commit: Commit | "auto",
  context: StoreContext,
): Promise<NodeConnection> {
  if (commit === "watch") return { connection, commit, watching: false };
  const start = performance.now();
  const replies = await roundTrip(
    connection,
    [["EVAL", COMPARE_AND_SET, "0"]],
    context.connectDeadline,
  );
  if (!hasReplies(replies)) throw replies.error;
  const [reply] = replies;
  if (reply instanceof Error) {
    if (commit === "auto" && isForbidden(reply)) {
      return { connection, commit: "watch", watching: false };
    }
    throw reply;
  }
  context.clock.sample(timeOf(reply), start, performance.now());
  return { connection, commit: "cas", watching: false };
}

/** Whether scripts are not permitted, or there is no such command. */
function isForbidden({ message }: Error): boolean {
  return /^(NOPERM|ERR unknown command)/.test(message);
}
