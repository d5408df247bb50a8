import type { Algorithm } from "./algorithm.ts";
import type { Answer } from "./answer.ts";
import type { Decision } from "./decision.ts";
import type { Projection, Vantage } from "./projection.ts";

/** What a line needs of a limiter. */
export interface LineOwner {
  readonly algorithm: Algorithm;
  /** Time that passes as waits do, whatever steps the clock takes that decides. */
  passing(): number;
  /** Calls back after so many milliseconds have passed; returns what cancels it. */
  after(milliseconds: number, wake: () => void): () => void;
  /** Runs one operation on one of the limiter's keys. */
  run(key: string, algorithm: Algorithm, cost: number): Answer<Decision>;
}

/** Who waits for what. */
export interface Wish {
  readonly owner: LineOwner;
  /** The limiter's key. */
  readonly key: string;
  readonly cost: number;
  /** The longest wait in milliseconds; may be `Infinity`. */
  readonly maxWait: number;
  readonly signal: AbortSignal | undefined;
  /** Whether an abort is told only when what was taken meanwhile has been given back. */
  readonly whole: boolean;
}

/** An admitted call, and its place if it has to wait for its start. */
export interface Admission {
  readonly decision: Decision;
  readonly starter: Starter | undefined;
}

export interface Waiter {
  readonly wish: Wish;
  /** When it will have waited for long enough, in the time that passes; may be `Infinity`. */
  readonly deadline: number;
  /** Where the line leads with this one at its end. */
  leads: Projection | undefined;
  readonly admit: (admission: Admission) => void;
  readonly fail: (reason: unknown) => void;
  /** Tells one that left during its call why, once that has ended; only after it left so. */
  told: (() => void) | undefined;
}

/** The base of judgement, and how to tell the store's time from then on. */
export interface Base extends Vantage {
  /** By whose time that passes. */
  readonly owner: LineOwner;
  /** How far the store's clock was ahead of that. */
  readonly ahead: number;
}

/** A charged call that waits for its start. */
export interface Starter {
  /** The instant, in the store's time, at which the key was fresh after this call. */
  readonly freshAt: number;
  readonly cost: number;
  /** Whether it has given up. */
  gone: boolean;
}

/** The callers that wait for one key. */
export interface Line {
  /** Not charged; the first one is the head. */
  readonly waiting: Waiter[];
  /** Charged, and sleeping out their delay, in the order of their places. */
  readonly starting: Starter[];
  /** How many of `waiting` have a deadline. */
  hurried: number;
  /** What the head's last refusal saw; undefined when it was not kept, or too much has happened. */
  base: Base | undefined;
  /** How many of `waiting`, from the head on, have a `leads` that still holds. */
  judged: number;
  /** Whether heads are being served. */
  serving: boolean;
  /** The head's call is under way: nobody is judged by what it may be changing. */
  trying: boolean;
  /** Units were given back since the head's call was sent: it must not sleep on its answer. */
  stirred: boolean;
  /** Ends the head's sleep; only while it sleeps. */
  wake: (() => void) | undefined;
}

/** The lines of one store, by stored key. */
export type Lines = Map<string, Line>;

/** The line of a stored key; opened if there is none. */
export function lineOf(lines: Lines, stored: string): Line {
  const known = lines.get(stored);
  if (known !== undefined) return known;
  const line: Line = {
    waiting: [],
    starting: [],
    hurried: 0,
    base: undefined,
    judged: 0,
    serving: false,
    trying: false,
    stirred: false,
    wake: undefined,
  };
  lines.set(stored, line);
  return line;
}

/** Closes a line that nobody is in. */
export function closeEmpty(lines: Lines, stored: string, line: Line): void {
  if (line.waiting.length > 0 || line.starting.length > 0 || line.serving) return;
  if (lines.get(stored) === line) lines.delete(stored);
}

/** Tells the head that it may be admitted sooner than was foreseen. */
export function stir(line: Line): void {
  line.stirred = true;
  line.judged = 0;
  line.base = undefined;
  line.wake?.();
}
