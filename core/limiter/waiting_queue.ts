import type { Algorithm } from "../algorithm.ts";
import type { MaybePromise } from "../maybe_promise.ts";
import type { Decision } from "../decision.ts";
import type { Projection, StateAt } from "./projection.ts";

/** What a line needs of a limiter. */
export interface QueueLimiter {
  readonly algorithm: Algorithm;
  /** Time that passes as waits do, whatever steps the clock takes that decides. */
  passing(): number;
  /** Calls back after so many milliseconds have passed; returns what cancels it. */
  after(milliseconds: number, wake: () => void): () => void;
  /** Runs one operation on one of the limiter's keys. */
  run(key: string, algorithm: Algorithm, cost: number): MaybePromise<Decision>;
}

/** Who waits for what. */
export interface WaitRequest {
  readonly limiter: QueueLimiter;
  /** The limiter's key. */
  readonly key: string;
  readonly cost: number;
  /** The longest wait in milliseconds; may be `Infinity`. */
  readonly maxWait: number;
  readonly signal: AbortSignal | undefined;
  /** Whether an abort is told only when what was taken meanwhile has been given back. */
  readonly afterUndo: boolean;
}

/** An admitted call, and its place if it has to wait for its start. */
export interface Admission {
  readonly decision: Decision;
  readonly delayed: DelayedCall | undefined;
}

export interface Waiter {
  readonly request: WaitRequest;
  /** When it will have waited for long enough, in the time that passes; may be `Infinity`. */
  readonly deadline: number;
  /** Where the line leads with this one at its end. */
  projection: Projection | undefined;
  readonly admit: (admission: Admission) => void;
  readonly fail: (reason: unknown) => void;
  /** Tells one that left during its call why, once that has ended; only after it left so. */
  onAttemptEnd: (() => void) | undefined;
}

/** The base of judgement, and how to tell the store's time from then on. */
export interface ObservedState extends StateAt {
  /** By whose time that passes. */
  readonly limiter: QueueLimiter;
  /** How far the store's clock was ahead of that. */
  readonly ahead: number;
}

/** A charged call that waits for its start. */
export interface DelayedCall {
  /** The instant, in the store's time, at which the key was fresh after this call. */
  readonly freshAt: number;
  readonly cost: number;
  /** Whether it has given up. */
  cancelled: boolean;
}

/** The callers that wait for one key. */
export interface WaitingQueue {
  /** Not charged; the first one is the head. */
  readonly waiting: Waiter[];
  /** Charged, and sleeping out their delay, in the order of their places. */
  readonly delayed: DelayedCall[];
  /** How many of `waiting` have a deadline. */
  withDeadline: number;
  /** What the head's last refusal saw; undefined when it was not kept, or too much has happened. */
  observed: ObservedState | undefined;
  /** How many of `waiting`, from the head on, have a `leads` that still holds. */
  projected: number;
  /** Whether heads are being served. */
  serving: boolean;
  /** The head's call is under way: nobody is judged by what it may be changing. */
  headInFlight: boolean;
  /** Units were given back since the head's call was sent: it must not sleep on its answer. */
  refunded: boolean;
  /** Ends the head's sleep; only while it sleeps. */
  wake: (() => void) | undefined;
}

/** The lines of one store, by stored key. */
export type WaitingQueues = Map<string, WaitingQueue>;

/** The line of a stored key; opened if there is none. */
export function queueFor(lines: WaitingQueues, stored: string): WaitingQueue {
  const known = lines.get(stored);
  if (known !== undefined) return known;
  const line: WaitingQueue = {
    waiting: [],
    delayed: [],
    withDeadline: 0,
    observed: undefined,
    projected: 0,
    serving: false,
    headInFlight: false,
    refunded: false,
    wake: undefined,
  };
  lines.set(stored, line);
  return line;
}

/** Closes a line that nobody is in. */
export function dropIfEmpty(lines: WaitingQueues, stored: string, line: WaitingQueue): void {
  if (line.waiting.length > 0 || line.delayed.length > 0 || line.serving) return;
  if (lines.get(stored) === line) lines.delete(stored);
}

/** Tells the head that it may be admitted sooner than was foreseen. */
export function wakeHead(line: WaitingQueue): void {
  line.refunded = true;
  line.projected = 0;
  line.observed = undefined;
  line.wake?.();
}
