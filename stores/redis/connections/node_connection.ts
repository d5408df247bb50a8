/*
 * A connection of the store to one node, for the engine. When it is made, it finds out how to commit
 * batches. The engine closes it. Only short-lived connections (to find a cluster's nodes or a
 * sentinel's master, or to delete a prefix) are closed by the code that opened them.
 */

import type { CircuitBreaker } from "../../optimistic/circuit_breaker.ts";
import type { Connect, Link } from "../../optimistic/driver.ts";
import { learnRoundTrip } from "../../optimistic/round_trips.ts";
import type { Connection, Dial } from "../clients/connection.ts";
import { casCommit } from "../commit/cas_commit.ts";
import { COMPARE_AND_SET, COMPARE_AND_SET_SHA } from "../commit/compare_and_set.ts";
import { scriptCommit } from "../commit/script_commit.ts";
import { watchCommit } from "../commit/watch_commit.ts";
import { firstError } from "../failures/reply_failure.ts";
import { STATE_TRANSITIONS, STATE_TRANSITIONS_SHA } from "../script/state_transitions.ts";
import type { StoreContext } from "../store_context.ts";
import { type CommitNode, repliesTo, timeOf } from "./round_trip.ts";
import { performance } from "../../own_timers.ts";

/** The way to commit batches. */
type Commit = "watch" | "cas" | "script";

/** The mode of a connection, and the instant at which to choose again, by `performance.now`. */
interface Mode {
  readonly commit: Commit;
  /** The instant to choose again, because the server may permit more by then. */
  readonly chooseAgainAt: number;
}

/** Makes connections to a node. */
export function connectNode(dial: Dial, context: StoreContext, breaker: CircuitBreaker): Connect {
  return async () => {
    const connection = await dial(context.connectDeadline);
    try {
      // Ask both at once, because a round trip to a distant server takes long.
      const [, mode] = await Promise.all([
        requireVersion(connection, context, breaker),
        chooseMode(connection, context),
      ]);
      return linkOf(connection, breaker, mode, context);
    } catch (error) {
      connection.destroy();
      throw error;
    }
  };
}

const COMMITS = { watch: watchCommit, cas: casCommit, script: scriptCommit };

function linkOf(
  connection: Connection,
  breaker: CircuitBreaker,
  found: Mode,
  context: StoreContext,
): Link {
  const node: CommitNode = { connection, breaker, silent: false, watching: false };
  let mode = found;

  async function chooseAgain(): Promise<void> {
    mode = { ...mode, chooseAgainAt: performance.now() + CHOOSE_EVERY };
    try {
      mode = await chooseMode(connection, context);
    } catch {
      // The next batch meets the same failure, and handles it.
    }
  }

  return {
    get open() {
      return connection.open;
    },
    get exclusive() {
      return mode.commit === "watch";
    },
    commit: (batch, callbacks) => COMMITS[mode.commit](node, batch, callbacks, context),
    refresh: () => performance.now() < mode.chooseAgainAt ? undefined : chooseAgain(),
    destroy: () => connection.destroy(),
  };
}

/** The scripts of the modes that need one. */
const SCRIPTS = {
  script: [STATE_TRANSITIONS, STATE_TRANSITIONS_SHA],
  cas: [COMPARE_AND_SET, COMPARE_AND_SET_SHA],
} as const;

/** The modes of `"auto"`, the best one first. */
const AUTO: readonly Commit[] = ["script", "cas", "watch"];

/**
 * Chooses how to commit on a connection: by the option, or with `"auto"` by the first mode that the
 * server permits. A script's reply is also the first sample of the server's time.
 */
async function chooseMode(
  connection: Connection,
  context: StoreContext,
): Promise<Mode> {
  const { commit, counters } = context;
  let refusal: Error | undefined;
  for (const mode of commit === "auto" ? AUTO : [commit]) {
    if (mode === "watch" && connection.isShared === true) break;
    const earlier: Error | undefined = refusal;
    refusal = mode === "watch" ? undefined : await refusalOf(connection, mode, context);
    if (refusal === undefined) {
      counters.commit = mode;
      counters.commitReason = reasonOf(commit, earlier);
      const isBest = commit !== "auto" || mode === AUTO[0];
      return { commit: mode, chooseAgainAt: isBest ? Infinity : performance.now() + CHOOSE_EVERY };
    }
    if (!isForbidden(refusal)) break;
  }
  throw refusal!;
}

/** Milliseconds after which a server that forbids scripts is asked again. */
const CHOOSE_EVERY = 1_000;

/** The lowest version of Redis that the store supports, because KEEPTTL of SET came with 6.0. */
const LOWEST_VERSION = 6;

/** Requires a new enough server, if the server reports its version. */
async function requireVersion(
  connection: Connection,
  { connectDeadline }: StoreContext,
  { trips }: CircuitBreaker,
): Promise<void> {
  const sent = performance.now();
  const [info] = await repliesTo(connection, [["INFO", "server"]], connectDeadline);
  learnRoundTrip(trips, performance.now() - sent);
  const version = /\bredis_version:((\d+)[\d.]*)/.exec(String(info));
  if (version === null || Number(version[2]) >= LOWEST_VERSION) return;
  throw new Error(`Redis must be of version 6.0 or later: current version is ${version[1]}`);
}

function reasonOf(commit: StoreContext["commit"], refusal: Error | undefined): string {
  if (commit !== "auto") return `The option says so: ${commit}`;
  return refusal === undefined
    ? "The server permits scripts"
    : `The server permits no scripts: ${refusal.message}`;
}

/**
 * Tries a mode's script by its text and by its name. Returns the server's objection, if it has one.
 */
async function refusalOf(
  connection: Connection,
  mode: "cas" | "script",
  { clock, connectDeadline }: StoreContext,
): Promise<Error | undefined> {
  const [text, sha] = SCRIPTS[mode];
  const start = performance.now();
  const calls = [["EVAL", text, "0"], ["EVALSHA", sha, "0"]];
  const replies = await repliesTo(connection, calls, connectDeadline);
  const refusal = firstError(replies);
  if (refusal === undefined) clock.sample(timeOf(replies[0]), start, performance.now());
  return refusal;
}

/** Whether the error says that scripts are forbidden, or work differently from a Redis server. */
function isForbidden({ message }: Error): boolean {
  return /^(NOPERM|ERR)\b/.test(message);
}
