import process from "node:process";

/** The parameters of a fast-check run that this suite sets. */
export interface RunParameters {
  /** The seed of the random values. */
  readonly seed: number;
  /** How many values are tried. */
  readonly numRuns: number;
}

let chosen: number | undefined;

/** The seed of this run: TIDEGATE_SEED if given, otherwise a random one, printed once. */
export function seed(): number {
  chosen ??= given() ?? random();
  return chosen;
}

/**
 * Parameters for `fc.assert`: the seed of this run, and `numRuns` times TIDEGATE_RUNS.
 *
 * @param options How often to try where TIDEGATE_RUNS is not set; default 100.
 */
export function fcOptions(options: { readonly numRuns?: number } = {}): RunParameters {
  const factor = numberOf("TIDEGATE_RUNS") ?? 1;
  return { seed: seed(), numRuns: Math.max(1, Math.round((options.numRuns ?? 100) * factor)) };
}

/**
 * Parameters for a property of pure code, of which an engine says no more than another one: a run on
 * several runtimes divides the cases, and each has a seed of its own.
 */
export function dividedRuns(options: { readonly numRuns?: number } = {}): RunParameters {
  const whole = fcOptions(options);
  const [place, count] = ownShare();
  return { seed: (whole.seed + place) | 0, numRuns: Math.ceil(whole.numRuns / count) };
}

/** Whether this run may take long, as `npm run test:long` does. */
export function isLong(): boolean {
  return process.env["TIDEGATE_LONG"] === "1";
}

/** The first whole numbers, from 0. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/**
 * The share of these cases that this runtime tries: all of them where it runs alone, otherwise those
 * that TIDEGATE_SHARE says, as in `0/3`. Together the runtimes try each case, and in each run others.
 * For cases of which a runtime says no more than another one.
 */
export function share<T>(cases: readonly T[]): T[] {
  const [place, count] = ownShare();
  return cases.filter((_, index) => index % count === place);
}

/**
 * The test of one case, which passes at once where the case is in the share of another runtime: each
 * runtime has equally many tests.
 */
export function inShare<T, A extends unknown[]>(
  cases: readonly T[],
  one: T,
  work: (...args: A) => Promise<void>,
): (...args: A) => Promise<void> {
  return share(cases).includes(one) ? work : () => Promise.resolve();
}

/** The place of this runtime, and how many take part. */
function ownShare(): readonly [place: number, count: number] {
  const [place = 0, count = 1] = (process.env["TIDEGATE_SHARE"] ?? "0/1").split("/").map(Number);
  return [place, count];
}

function given(): number | undefined {
  const value = numberOf("TIDEGATE_SEED");
  return value === undefined ? undefined : value | 0;
}

function random(): number {
  const value = Math.floor(Math.random() * 2 ** 31);
  console.log(`TIDEGATE_SEED=${value}`);
  return value;
}

function numberOf(variable: string): number | undefined {
  const text = process.env[variable];
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) {
    throw new TypeError(`Cannot read ${variable} as it must be a number: it is "${text}"`);
  }
  return value;
}
