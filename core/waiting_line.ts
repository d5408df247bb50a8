/*
 * Waiting for one's turn.
 *
 * Each key that somebody waits for has a line. Only its head tries, and nothing is taken for those
 * behind it; so a large cost is not overtaken by small ones, and whoever gives up has taken nothing.
 * The head sleeps for as long as its refusal said, then tries again: one timer per line. Those who
 * were admitted by a `leakyQueue` then sleep out their delay.
 *
 *   line.waiting     has not been charged; the first one tries
 *   line.starting    is charged and sleeps out its delay; in the order of their places
 *
 * The lines of a store are shared by all limiters of the process, by stored key.
 */

import type { Algorithm } from "./algorithm.ts";
import type { Decision } from "./decision.ts";
import { LAST_INSTANT } from "./check.ts";
import { RateLimitedError } from "./errors.ts";
import {
  attempting,
  givingBackTheNewest,
  project,
  projecting,
  type Projection,
} from "./projection.ts";

type Answer = Decision | Promise<Decision>;

/** What a line needs of a limiter. */
export interface LineOwner {
  readonly algorithm: Algorithm;
  /** The limiter's time. */
  now(): number;
  /** Calls back after so many milliseconds of that time; returns what cancels it. */
  after(milliseconds: number, wake: () => void): () => void;
  /** Runs one operation on the line's key. */
  run(key: string, algorithm: Algorithm, cost: number, dry: boolean): Answer;
  /** Reports a verdict that was given to a caller. */
  report(decision: Decision, key: string, cost: number): void;
}

/** What one caller waits with. */
export interface Patience {
  readonly cost: number;
  /** The longest wait in milliseconds; may be `Infinity`. */
  readonly maxWait: number;
  readonly signal: AbortSignal | undefined;
}

interface Waiter {
  readonly owner: LineOwner;
  readonly key: string;
  readonly cost: number;
  readonly deadline: number;
  readonly admit: (admission: Admission) => void;
  readonly fail: (reason: unknown) => void;
}

/** An admitted call, and its place if it has to wait for its start. */
interface Admission {
  readonly decision: Decision;
  readonly starter: Starter | undefined;
}

/** A charged call that waits for its start. */
interface Starter {
  /** The instant, in the store's time, at which the key was fresh after this call. */
  readonly freshAt: number;
  readonly cost: number;
  gone: boolean;
}

/** The callers that wait for one key. */
export interface Line {
  readonly waiting: Waiter[];
  readonly starting: Starter[];
  /** Where the line leads, as far as is known; `undefined` when something has changed. */
  tail: Projection | undefined;
  /** Wakes the head before its time; only while it sleeps. */
  wake: (() => void) | undefined;
  /** Whether heads are being served. */
  serving: boolean;
  /** Closes the line if nobody is in it. */
  readonly retire: () => void;
}

/** The lines of one store, by stored key. */
export type Lines = Map<string, Line>;

/**
 * Waits for one's turn, takes, and waits out the delay.
 *
 * @param lines The store's lines.
 * @param place The stored key.
 * @param owner The limiter.
 * @param key The limiter's key.
 * @throws {RateLimitedError} If the wait would be longer than `maxWait`.
 */
export async function waitInLine(
  lines: Lines,
  place: string,
  owner: LineOwner,
  key: string,
  patience: Patience,
): Promise<Decision> {
  const line = lines.get(place) ?? opened(lines, place);
  try {
    const { decision, starter } = await admission(line, owner, key, patience);
    if (starter !== undefined) {
      await waitOut(line, owner, key, starter, decision.delay, patience.signal);
    }
    return decision;
  } finally {
    line.retire();
  }
}

/** Tells the head of a key's line, if there is one, that units were given back. */
export function wakeLine(lines: Lines, place: string): void {
  const line = lines.get(place);
  if (line === undefined) return;
  line.tail = undefined;
  line.wake?.();
}

function opened(lines: Lines, place: string): Line {
  const line: Line = {
    waiting: [],
    starting: [],
    tail: undefined,
    wake: undefined,
    serving: false,
    retire() {
      if (line.waiting.length > 0 || line.starting.length > 0 || line.serving) return;
      if (lines.get(place) === line) lines.delete(place);
    },
  };
  lines.set(place, line);
  return line;
}

/** Queues, and is admitted or fails. The first in line tries before anything else can run. */
function admission(
  line: Line,
  owner: LineOwner,
  key: string,
  { cost, maxWait, signal }: Patience,
): Promise<Admission> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const waiter: Waiter = {
      owner,
      key,
      cost,
      deadline: owner.now() + maxWait,
      admit(admission) {
        signal?.removeEventListener("abort", abort);
        resolve(admission);
      },
      fail(reason) {
        signal?.removeEventListener("abort", abort);
        reject(reason);
      },
    };
    function abort(): void {
      leave(line, waiter);
      waiter.fail(signal!.reason);
    }
    signal?.addEventListener("abort", abort);
    line.waiting.push(waiter);
    if (!line.serving) void serve(line);
    else joinBehind(line, waiter, maxWait);
  });
}

/** Refuses a new waiter at once if those before it leave no place in time. */
function joinBehind(line: Line, waiter: Waiter, maxWait: number): void {
  const { owner, key, cost } = waiter;
  const before = line.tail;
  if (before !== undefined) return judge(before);
  if (maxWait === Infinity) return;
  const costs = line.waiting.slice(0, -1).map((other) => other.cost);
  let told: Projection | undefined;
  const asked = projecting(owner.algorithm, costs, (projection) => told = projection);
  try {
    const answer = owner.run(key, asked, cost, true);
    if (answer instanceof Promise) answer.then(() => judge(told!), waiter.fail);
    else judge(told!);
  } catch (reason) {
    leave(line, waiter);
    waiter.fail(reason);
  }

  function judge(tail: Projection): void {
    const projection = project(owner.algorithm, tail, owner.now(), [cost]);
    if (projection.wait <= maxWait) line.tail = projection;
    else if (line.waiting.includes(waiter)) {
      const [look] = owner.algorithm.step(tail.state, Math.min(tail.at, LAST_INSTANT), 0);
      leave(line, waiter);
      line.tail = tail;
      waiter.fail(refusal(owner, key, cost, { ...look, retryAfter: projection.wait }));
    }
  }
}

/** Takes a waiter out of the line. */
function leave(line: Line, waiter: Waiter): void {
  const place = line.waiting.indexOf(waiter);
  if (place === -1) return;
  line.waiting.splice(place, 1);
  line.tail = undefined;
  if (place === 0) line.wake?.();
}

/** Lets the head try until the line is empty. */
async function serve(line: Line): Promise<void> {
  line.serving = true;
  while (line.waiting.length > 0) {
    const head = line.waiting[0]!;
    const { owner, key, cost } = head;
    try {
      let freshAt = 0;
      const patience = Math.max(0, head.deadline - owner.now());
      const tries = attempting(owner.algorithm, patience, (instant) => freshAt = instant);
      const answer = owner.run(key, tries, cost, false);
      const decision = answer instanceof Promise ? await answer : answer;
      if (line.waiting[0] !== head) {
        // It left while its call was under way.
        if (decision.allowed) await owner.run(key, owner.algorithm, -cost, false);
      } else if (decision.allowed) {
        line.waiting.shift();
        owner.report(decision, key, cost);
        head.admit({ decision, starter: starterOf(line, decision, freshAt, cost) });
      } else if (owner.now() + decision.retryAfter > head.deadline) {
        refuse(line, head, decision);
      } else {
        line.tail = undefined;
        await untilWorthTrying(line, head, decision.retryAfter);
        await giveUpLate(line);
      }
    } catch (reason) {
      leave(line, head);
      head.fail(reason);
    }
  }
  line.serving = false;
  line.retire();
}

/** Gives an admitted call its place among those that wait for their start, if it has to. */
function starterOf(
  line: Line,
  { delay }: Decision,
  freshAt: number,
  cost: number,
): Starter | undefined {
  if (delay === 0) return undefined;
  const starter = { freshAt, cost, gone: false };
  line.starting.push(starter);
  return starter;
}

/** Sleeps until the head may be admitted, somebody's patience ends, or units are given back. */
function untilWorthTrying(line: Line, head: Waiter, retryAfter: number): Promise<void> {
  const now = head.owner.now();
  let sleep = retryAfter;
  for (const { deadline } of line.waiting) sleep = Math.min(sleep, deadline - now + 1);
  return new Promise((resolve) => {
    const cancel = head.owner.after(Math.max(0, sleep), done);
    function done(): void {
      cancel();
      line.wake = undefined;
      resolve();
    }
    line.wake = done;
  });
}

/** Refuses those whose patience has ended. */
async function giveUpLate(line: Line): Promise<void> {
  for (const waiter of line.waiting.filter((waiter) => waiter.owner.now() > waiter.deadline)) {
    const { owner, key, cost } = waiter;
    const decision = await owner.run(key, owner.algorithm, cost, true);
    refuse(line, waiter, decision);
  }
}

function refuse(line: Line, waiter: Waiter, decision: Decision): void {
  leave(line, waiter);
  waiter.fail(refusal(waiter.owner, waiter.key, waiter.cost, decision));
}

/** Reports a refusal, and makes its error. */
export function refusal(
  owner: LineOwner,
  key: string,
  cost: number,
  decision: Decision,
  rule = "its turn must come within maxWait",
): RateLimitedError {
  const refused = decision.allowed ? { ...decision, allowed: false } : decision;
  owner.report(refused, key, cost);
  const wait = refused.retryAfter === Infinity ? "never" : `in ${refused.retryAfter} ms`;
  return new RateLimitedError(
    `Cannot acquire ${cost} of ${JSON.stringify(key)} as ${rule}: it would come ${wait}`,
    refused,
  );
}

/**
 * Sleeps out the delay of an admitted call. One that is aborted gives its place back only if it is
 * the newest: otherwise the next call would be given the newest one's, which is taken.
 */
function waitOut(
  line: Line,
  owner: LineOwner,
  key: string,
  starter: Starter,
  delay: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = owner.after(delay, () => {
      signal?.removeEventListener("abort", abort);
      line.starting.splice(line.starting.indexOf(starter), 1);
      resolve();
    });
    function abort(): void {
      cancel();
      starter.gone = true;
      giveBackNewest(line, owner, key).finally(() => reject(signal!.reason));
    }
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Gives back the places of those who have gone, from the newest on. */
async function giveBackNewest(line: Line, owner: LineOwner, key: string): Promise<void> {
  try {
    while (line.starting.at(-1)?.gone === true) {
      const { freshAt, cost } = line.starting.pop()!;
      await owner.run(key, givingBackTheNewest(owner.algorithm, freshAt), -cost, false);
    }
  } catch {
    // What could not be given back stays charged: the safe side.
  }
  line.tail = undefined;
  line.wake?.();
}
