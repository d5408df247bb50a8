/*
 * Commits batches on a driver that compares and sets. Calls are decided on the values last seen, at an
 * estimate of the database's time. The driver compares these values with the values in the database.
 * Only calls on keys that differ are decided again, on the values that the driver found.
 */

import { type CompareAndSet, type DriverCell, type DriverCommit, DriverError } from "../driver.ts";
import { type AwaitedServer, replyWithin } from "./await_reply.ts";
import { decideBatch } from "./batch.ts";
import { rootCellOf } from "../stepping/step_calls.ts";
import { asError } from "../as_error.ts";
import type { BatchFailure } from "./batch_failure.ts";
import { type Cell, isReplaced, rootOf } from "../stepping/cell.ts";
import type { CircuitBreaker } from "./circuit_breaker.ts";
import {
  type CommitCall,
  commitCallsOf,
  groupsOf,
  loadGuesses,
  reportGroups,
} from "./commit_calls.ts";
import type { CommitCallbacks, Connect, Link } from "./driver.ts";
import type { EngineContext } from "./engine_context.ts";
import { learnRoundTrip, replyDeadline } from "./round_trips.ts";
import type { ServerCounters } from "./server_statistics.ts";
import type { ServerClock } from "./server_clock.ts";
import type { ValueCache } from "./value_cache.ts";
import { performance } from "../own_timers.ts";

/** The counts of a store on a driver. */
export interface DriverCounters extends ServerCounters {
  /** Commits. */
  commits: number;
  /** The total seconds of these commits. */
  commitSeconds: number;
}

/** The most connections that may be lost one after the other before the database counts as away. */
const MOST_LOST = 8;

/** The record that the parts of such a store share. */
export interface DriverContext extends EngineContext {
  readonly values: ValueCache;
  readonly clock: ServerClock;
  readonly counters: DriverCounters;
  /** Begins a sweep after a batch, if one is due. */
  afterBatch(): void;
}

/**
 * Makes links to a driver's database. There is nothing to connect, but an empty commit shows the
 * database's time, and whether it answers.
 */
export function connectDriver(
  driver: CompareAndSet,
  context: DriverContext,
  breaker: CircuitBreaker,
): Connect {
  return async () => {
    const began = performance.now();
    await firstCommit(driver, context);
    learnRoundTrip(breaker.trips, performance.now() - began);
    const server: AwaitedServer = { breaker, silent: false };
    let open = true;
    const link: Link = {
      get open() {
        return open;
      },
      exclusive: false,
      // Two commits of one client may arrive in either order.
      mostBatches: 1,
      async commit(batch, callbacks) {
        const estimate = context.clock.now();
        loadGuesses(batch.cells.all, context.values);
        const calls = commitCallsOf(
          decideBatch(
            batch,
            { now: estimate ?? Date.now(), isShared: estimate !== undefined },
            context.counters,
          ),
          batch,
        );
        const outcomes = await Promise.all(
          calls.map((call) => commitCall(driver, call, server, callbacks, context)),
        );
        // Report failures last, because an outage also fails the calls that wait to try again.
        for (const fail of outcomes) fail?.();
        context.afterBatch();
      },
      destroy() {
        open = false;
      },
    };
    return link;
  };
}

/** Commits nothing, which shows that the database answers. Another connection may be better than the first. */
async function firstCommit(driver: CompareAndSet, context: DriverContext): Promise<void> {
  for (let lost = 1;; lost++) {
    try {
      await commitTimed(driver, [], new AbortController().signal, context);
      return;
    } catch (error) {
      if ((error as Partial<DriverError>).scope !== "connection" || lost === MOST_LOST) throw error;
    }
  }
}

/** Commits calls, and reports them. If they failed, it returns a function that reports that. */
async function commitCall(
  driver: CompareAndSet,
  { jobs, cells }: CommitCall,
  server: AwaitedServer,
  callbacks: CommitCallbacks,
  context: DriverContext,
): Promise<(() => void) | undefined> {
  const groups = groupsOf(cells);
  const abort = new AbortController();
  const reply = commitTimed(driver, groups.map(cellsOf), abort.signal, context);
  const deadline = replyDeadline(server.breaker.trips, context);
  const came = await replyWithin(reply, deadline, failureOf, server);
  if (isCommit(came)) {
    reportCommit(jobs, groups, came, callbacks, context, driver.name);
    return undefined;
  }
  if (came.kind === "silent") abort.abort(came.error);
  if (isRetried(came.error)) {
    callbacks.tryAgain(jobs);
    return undefined;
  }
  // Nobody knows the outcome of a commit without an answer.
  const applied = came.kind === "silent" ? "unknown" : came.applied;
  return () => callbacks.fail(jobs, { ...came, applied });
}

async function commitTimed(
  driver: CompareAndSet,
  groups: readonly (readonly DriverCell[])[],
  signal: AbortSignal,
  { clock, counters }: DriverContext,
): Promise<DriverCommit> {
  const sent = performance.now();
  counters.commits++;
  try {
    const commit = await driver.commit(groups, signal);
    if (commit.now !== undefined) clock.sample(commit.now, sent, performance.now());
    return commit;
  } finally {
    counters.commitSeconds += (performance.now() - sent) / 1_000;
  }
}

function cellsOf(group: readonly Cell[]): readonly DriverCell[] {
  return group.map((cell) => {
    const { name, held = "", next = "" } = cell;
    return { key: name, held, next, freshAt: isReplaced(cell) && next !== "" ? cell.keptUntil : 0 };
  });
}

/** Reports calls by the outcome of their groups, and remembers the values of the keys. */
function reportCommit(
  jobs: CommitCall["jobs"],
  groups: readonly (readonly Cell[])[],
  { lost, locked = [] }: DriverCommit,
  callbacks: CommitCallbacks,
  { values }: DriverContext,
  name: string,
): void {
  const waiting = new Set(locked.map((group) => rootOf(answeredGroup(groups, group)[0]!)));
  const roots = new Set(waiting);
  for (const { group, held } of lost) {
    const cells = answeredGroup(groups, group, held.length);
    roots.add(rootOf(cells[0]!));
    for (const [index, { name }] of cells.entries()) {
      values.set(name, held[index] || undefined, undefined, 0);
    }
  }
  for (const group of groups) {
    if (roots.size > 0 && roots.has(rootOf(group[0]!))) continue;
    for (const cell of group) {
      if (cell.changed || cell.state !== undefined) values.remember(cell);
    }
  }
  if (roots.size > 0) {
    for (const job of jobs) {
      job.lockedOut = waiting.has(rootCellOf(job)) ? lockedError(name) : undefined;
    }
  }
  reportGroups(jobs, roots, waiting, callbacks);
}

function answeredGroup(
  groups: readonly (readonly Cell[])[],
  group: number,
  length: number | undefined = groups[group]?.length,
): readonly Cell[] {
  const cells = groups[group];
  if (cells !== undefined && length === cells.length) return cells;
  throw new Error("The answer of the driver does not fit what was asked");
}

/** The error of a call on a locked key, once its time is over. */
function lockedError(name: string): DriverError {
  const message = `Somebody else keeps it locked in ${name}`;
  return new DriverError(message, {
    applied: "no",
    scope: "call",
    rule: "lock the row of its key",
  });
}

function isCommit(came: DriverCommit | BatchFailure): came is DriverCommit {
  return "lost" in came;
}

function isRetried(error: Error): boolean {
  const { applied, retry } = error as Partial<DriverError>;
  return applied === "no" && retry === true;
}

/** Reads a failure by its fields, so that errors of another copy of this package count, too. */
function failureOf(thrown: unknown): BatchFailure {
  const error = asError(thrown);
  const { applied, scope } = error as Partial<DriverError>;
  const known = applied === "no" ? "no" : "unknown";
  const isLost = scope === "connection" || known === "unknown";
  const kind = scope === "call" ? "rejected" : isLost ? "lost" : "refused";
  return { kind, applied: known, error };
}
