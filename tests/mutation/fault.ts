/** Something wrong, put into one file. */
export interface Fault {
  /** The fault in words. */
  readonly what: string;
  /** The file, from the root. */
  readonly file: string;
  /** Text that is in the file just once. */
  readonly search: string;
  /** The text to put in its place. */
  readonly replace: string;
  /** The suites that should catch it, in the order to try. */
  readonly laws: readonly SuiteName[];
}

/** The laws of one thing, as `suites.ts` makes them; or a file of tests, for what no law says. */
export type SuiteName =
  | `tests/${string}.test.ts`
  | "all"
  | "calendarWindow"
  | "fixedWindow"
  | "gcra"
  | "growingLockout"
  | "leakyBucket"
  | "leakyQueue"
  | "slidingCounter"
  | "lockout"
  | "slidingLog"
  | "slidingWindow"
  | "tokenBucket"
  | "tokenBucketByInterval"
  | "limiter"
  | "memoryStore"
  | "a full memoryStore"
  | "redisStore by watch"
  | "redisStore by cas"
  | "redisStore by script"
  | "sharedStore"
  | "memory of a sharedStore"
  | "windows of a sharedStore"
  | "threads on a sharedStore";

/**
 * Faults of one file for the same laws: what is wrong, and the text with the change marked in it, such
 * as `a {~~<=~><~~} b`. Where little of the text stays, it is written before and after the change.
 */
export function faultsIn(
  file: string,
  laws: readonly SuiteName[],
  texts: Readonly<Record<string, string | readonly [search: string, replace: string]>>,
): Fault[] {
  return Object.entries(texts).map(([what, text]) => {
    const sides = [1, 2].map((side) =>
      String(text).replace(/\{~~([^]*?)~>([^]*?)~~\}/, (...parts) => parts[side])
    );
    const [search, replace] = typeof text === "string" ? sides : text;
    return { what, file, search: search!, replace: replace!, laws };
  });
}
