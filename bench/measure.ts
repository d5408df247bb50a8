/** One thing to time: does so many operations, and returns something so that none is left out. */
export type Variant = (operations: number) => number;

/** Nanoseconds per operation, by variant. */
export type Figures<Name extends string> = Readonly<Record<Name, number>>;

/** The variants' results; kept, so that no engine drops their work as useless. */
let kept = 0;

/**
 * Times variants against each other: in turn, round after round, so that a noisy moment of the
 * machine falls on all of them; the figure is the median of the rounds.
 *
 * @param operations Per variant and round.
 * @param rounds An odd number; one more is run first, and not counted.
 * @param clock Milliseconds; by default those of the runtime's monotonic clock.
 */
export function compare<Name extends string>(
  variants: Readonly<Record<Name, Variant>>,
  operations: number,
  rounds: number,
  clock: () => number = () => performance.now(),
): Figures<Name> {
  const names = Object.keys(variants) as Name[];
  const times = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const name of names) {
      const start = clock();
      kept += variants[name](operations);
      const time = (clock() - start) * 1e6 / operations;
      if (round >= 0) times.get(name)!.push(time);
    }
  }
  const entries = names.map((name) => [name, median(times.get(name)!)] as const);
  return Object.fromEntries(entries) as Figures<Name>;
}

/** The value in the middle. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >>> 1]!;
}

/** Shuffles with a fixed seed, so that every run uses the same order. */
export function shuffled(keys: string[]): string[] {
  let seed = 1;
  for (let index = keys.length - 1; index > 0; index--) {
    seed = Math.imul(seed, 1_664_525) + 1_013_904_223 >>> 0;
    const other = seed % (index + 1);
    [keys[index], keys[other]] = [keys[other]!, keys[index]!];
  }
  return keys;
}

/** Collects garbage, where the runtime was started so that it can. */
export function collect(): void {
  const { Bun, gc } = globalThis as { Bun?: { gc(force: boolean): void }; gc?: () => void };
  if (Bun !== undefined) Bun.gc(true);
  else gc?.();
}

/** Bytes that objects and buffers take now, after a collection. */
export async function bytesInUse(): Promise<number> {
  collect();
  if ("Bun" in globalThis) {
    const { heapStats } = await import("bun:jsc");
    // Buffers and long strings are part of it.
    return heapStats().heapSize;
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The runtime and its version. */
export function runtime(): string {
  const { Bun, Deno } = globalThis as {
    Bun?: { version: string };
    Deno?: { version: { deno: string } };
  };
  if (Bun !== undefined) return `Bun ${Bun.version}`;
  return Deno !== undefined ? `Deno ${Deno.version.deno}` : `Node ${process.versions.node}`;
}

/** A line of a table: a name, then figures under their columns. */
export function row(name: string, cells: readonly (string | number)[]): string {
  const text = cells.map((cell) =>
    (typeof cell === "number" ? cell.toFixed(1) : cell).padStart(10)
  );
  return name.padEnd(36) + text.join("");
}

/** Whether `kept` was needed; nothing else reads it. */
export function finish(): void {
  if (kept === 0.1) console.log("");
}
