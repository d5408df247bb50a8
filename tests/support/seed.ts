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

/** Whether this run may take long, as `npm run test:long` does. */
export function isLong(): boolean {
  return process.env["TIDEGATE_LONG"] === "1";
}

/**
 * The cases of this run: all, but so many by the seed where runtimes divide the files. For cells of
 * which each starts several processes, such as the same contest on every store.
 */
export function drawn<T>(cases: readonly T[], count = 1): readonly T[] {
  if (process.env["TIDEGATE_DIVIDED"] !== "1") return cases;
  const first = Math.abs(seed());
  return upTo(Math.min(count, cases.length)).map((index) => cases[(first + index) % cases.length]!);
}

/** The first whole numbers, from 0. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
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
