/*
 * One connection to a server, made when it is first needed, and again after it was lost. It is
 * closed here; only short-lived connections (to find a cluster's nodes or a sentinel's master, or to
 * delete a prefix) are closed by the code that opened them.
 */

import type { CircuitBreaker } from "./circuit_breaker.ts";
import type { Connection, Dial } from "../clients/connection.ts";
import type { Commit } from "../commit/choose_commit.ts";
import { COMPARE_AND_SET, COMPARE_AND_SET_SHA } from "../commit/compare_and_set.ts";
import { firstError, storeClosed } from "../failures/batch_failure.ts";
import { STATE_TRANSITIONS, STATE_TRANSITIONS_SHA } from "../script/state_transitions.ts";
import type { StoreContext } from "../store_context.ts";
import { repliesTo, type RoundTripNode } from "./round_trip.ts";
import { timeOf } from "./server_clock.ts";

/** A connection of the store to one node. */
export interface NodeConnection extends RoundTripNode {
  /** How batches are committed on it. */
  readonly commit: Commit;
  /** Whether keys of an earlier batch are still watched on it. */
  watching: boolean;
}

/** A server, and the one connection to it. */
export interface Reconnector {
  readonly dial: Dial;
  readonly context: StoreContext;
  /** One for all connections to the same server. */
  readonly breaker: CircuitBreaker;
  /** The connection last made; it may have been lost since. */
  connection: NodeConnection | undefined;
  /** The attempt under way to make one. */
  connecting: Promise<NodeConnection> | undefined;
  closed: boolean;
}

/** Makes the record of a server that is not connected yet. */
export function reconnector(
  dial: Dial,
  context: StoreContext,
  breaker: CircuitBreaker,
): Reconnector {
  return {
    dial,
    context,
    breaker,
    connection: undefined,
    connecting: undefined,
    closed: false,
  };
}

/** The connection, if there is one and it is open. */
export function openConnection({ connection }: Reconnector): NodeConnection | undefined {
  return connection?.connection.open === true ? connection : undefined;
}

/** The connection; makes one if there is none. One attempt at a time, however many need it. */
export function connectTo(server: Reconnector): Promise<NodeConnection> {
  if (server.connection?.connection.open === false) dropConnection(server);
  if (server.connection !== undefined) return Promise.resolve(server.connection);
  return server.connecting ??= open(server).finally(() => {
    server.connecting = undefined;
  });
}

async function open(server: Reconnector): Promise<NodeConnection> {
  const { dial, context, breaker } = server;
  const connection = await dial(context.connectDeadline);
  try {
    const ready = await prepareConnection(connection, breaker, context);
    if (server.closed) throw storeClosed();
    context.counters.connections++;
    breaker.hasConnected = true;
    server.connection = ready;
    return ready;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** Closes the connection; the next call makes another one. */
export function dropConnection(server: Reconnector): void {
  server.connection?.connection.destroy();
  server.connection = undefined;
}

/** Closes the connection, and any that is being made. */
export function closeServer(server: Reconnector): void {
  server.closed = true;
  dropConnection(server);
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
async function prepareConnection(
  connection: Connection,
  breaker: CircuitBreaker,
  context: StoreContext,
): Promise<NodeConnection> {
  const { commit, counters } = context;
  let refusal: Error | undefined;
  for (const mode of commit === "auto" ? AUTO : [commit]) {
    if (mode === "watch" && connection.isShared === true) break;
    const earlier: Error | undefined = refusal;
    refusal = mode === "watch" ? undefined : await refusalOf(connection, mode, context);
    if (refusal === undefined) {
      counters.commit = mode;
      counters.commitReason = reasonOf(commit, earlier);
      return { connection, breaker, silent: false, commit: mode, watching: false };
    }
    if (!isForbidden(refusal)) break;
  }
  throw refusal!;
}

function reasonOf(commit: StoreContext["commit"], refusal: Error | undefined): string {
  if (commit !== "auto") return `The option says so: ${commit}`;
  return refusal === undefined
    ? "The server permits scripts"
    : `The server permits no scripts: ${refusal.message}`;
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
  const replies = await repliesTo(connection, calls, connectDeadline);
  const refusal = firstError(replies);
  if (refusal === undefined) clock.sample(timeOf(replies[0]), start, performance.now());
  return refusal;
}

/** Whether scripts are not permitted, or not as they are on a Redis server. */
function isForbidden({ message }: Error): boolean {
  return /^(NOPERM|ERR)\b/.test(message);
}
