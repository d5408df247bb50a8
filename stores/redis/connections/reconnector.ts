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
  commit: Commit;
  /** When to find out again, by `performance.now`: the server may permit more by then. */
  chooseAgainAt: number;
  /** Whether keys of an earlier batch are still watched on it. */
  watching: boolean;
}

/** Attempts to connect, of which the first to succeed counts. */
interface Dialling {
  readonly connection: Promise<NodeConnection>;
  readonly resolve: (ready: NodeConnection) => void;
  readonly reject: (error: Error) => void;
  underWay: number;
  /** When the latest one began, by `performance.now`. */
  latest: number;
}

/** A server, and the one connection to it. */
export interface Reconnector {
  readonly dial: Dial;
  readonly context: StoreContext;
  /** One for all connections to the same server. */
  readonly breaker: CircuitBreaker;
  /** The connection last made; it may have been lost since. */
  connection: NodeConnection | undefined;
  /** The attempts under way to make one. */
  dialling: Dialling | undefined;
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
    dialling: undefined,
    closed: false,
  };
}

/** The connection, if there is one and it is open. */
export function openConnection({ connection }: Reconnector): NodeConnection | undefined {
  return connection?.connection.open === true ? connection : undefined;
}

/** Milliseconds after which a further attempt is made beside those under way, and the most of them. */
const REDIAL = 100;
const MAX_ATTEMPTS = 8;

/**
 * The connection; makes one if there is none. An attempt that gets no answer, as its packets are lost,
 * may wait for a second to send them again, long after others would get through: so a further one is
 * made beside it, by the next call that asks. The first to succeed counts.
 */
export function connectTo(server: Reconnector): Promise<NodeConnection> {
  if (server.connection?.connection.open === false) dropConnection(server);
  if (server.connection !== undefined) return Promise.resolve(server.connection);
  const dialling = server.dialling ??= newDialling();
  const now = performance.now();
  const isDue = now - dialling.latest >= REDIAL && dialling.underWay < MAX_ATTEMPTS;
  if (dialling.underWay === 0 || isDue) {
    dialling.latest = now;
    dialling.underWay++;
    attempt(server, dialling);
  }
  return dialling.connection;
}

function newDialling(): Dialling {
  let resolve!: Dialling["resolve"];
  let reject!: Dialling["reject"];
  const connection = new Promise<NodeConnection>((...both) => [resolve, reject] = both);
  return { connection, resolve, reject, underWay: 0, latest: 0 };
}

function attempt(server: Reconnector, dialling: Dialling): void {
  open(server).then((ready) => {
    if (server.dialling !== dialling) return ready.connection.destroy();
    server.dialling = undefined;
    server.connection = ready;
    server.context.counters.connections++;
    dialling.resolve(ready);
  }, (error) => {
    if (--dialling.underWay > 0 || server.dialling !== dialling) return;
    server.dialling = undefined;
    dialling.reject(error as Error);
  });
}

async function open(server: Reconnector): Promise<NodeConnection> {
  const { dial, context, breaker } = server;
  const connection = await dial(context.connectDeadline);
  try {
    await requireVersion(connection, context);
    const mode = await chooseMode(connection, context);
    if (server.closed) throw storeClosed();
    breaker.hasConnected = true;
    return { connection, breaker, silent: false, ...mode, watching: false };
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
 * Finds out how to commit on a connection: as the options say, or with `"auto"` by the first mode that
 * the server permits. A script's reply is also the first sample of the server's time.
 */
async function chooseMode(
  connection: Connection,
  context: StoreContext,
): Promise<Pick<NodeConnection, "commit" | "chooseAgainAt">> {
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

/** Milliseconds until a server that permits no scripts is asked again whether it does. */
const CHOOSE_EVERY = 1_000;

/** Finds out again how to commit, if it is time; no batch may be under way. */
export async function chooseModeAgain(node: NodeConnection, context: StoreContext): Promise<void> {
  node.chooseAgainAt = performance.now() + CHOOSE_EVERY;
  try {
    Object.assign(node, await chooseMode(node.connection, context));
  } catch {
    // The next batch meets the same failure, and deals with it.
  }
}

/** The lowest version of Redis that has all that the store uses: SET with KEEPTTL is of 6.0. */
const LOWEST_VERSION = 6;

/** Requires a server that is new enough, if it says of which version it is. */
async function requireVersion(
  connection: Connection,
  { connectDeadline }: StoreContext,
): Promise<void> {
  const [info] = await repliesTo(connection, [["INFO", "server"]], connectDeadline);
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
