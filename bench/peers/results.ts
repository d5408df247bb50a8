import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";

import { runtime } from "../measure.ts";

/** A contestant's figures in one section; `null` where it has none. */
export interface Row {
  readonly name: string;
  readonly version: string | null;
  /** The work that it leaves out. */
  readonly note: string;
  readonly values: Readonly<Record<string, number | null>>;
}

/** The parts of a run. */
export const SECTIONS = ["memory", "shared", "redis", "http"] as const;

export type Section = typeof SECTIONS[number];

/** One part of a run, and the circumstances. */
export interface Measured {
  readonly date: string;
  /** Processes that wanted a processor when it began, on average over a minute. */
  readonly load: number;
  readonly isShort: boolean;
  readonly rows: readonly Row[];
}

/** The figures of one runtime on one machine. */
export interface Results {
  readonly runtime: string;
  readonly processor: string;
  readonly cores: number;
  readonly sections: Readonly<Partial<Record<Section, Measured>>>;
}

const folder = new URL("./results/", import.meta.url);

/** The runtimes in the order of the tables. */
export const RUNTIMES = ["node", "bun", "deno"] as const;

export type Runtime = typeof RUNTIMES[number];

/** The results of a runtime, if there are any. */
export function readResults(name: Runtime): Results | undefined {
  const file = new URL(`${name}.json`, folder);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

/** Writes down one part of a run beside the others of this runtime. */
export function keepResults(section: Section, measured: Measured): void {
  const name = runtime().split(" ")[0]!.toLowerCase() as Runtime;
  const results: Results = {
    runtime: runtime(),
    processor: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    sections: { ...readResults(name)?.sections, [section]: measured },
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify(results, undefined, 2)}\n`);
}

/**
 * How many cores are busy while this process waits for a second. Averages of the system would count
 * the part of the bench that has just ended.
 */
export async function loadNow(): Promise<number> {
  const before = cpus();
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const busy = cpus().map(({ times }, core) => {
    const was = before[core]!.times;
    const idle = times.idle - was.idle;
    const all = Object.values(times).reduce((sum, time) => sum + time, 0) -
      Object.values(was).reduce((sum, time) => sum + time, 0);
    return all > 0 ? 1 - idle / all : 0;
  });
  return Math.round(busy.reduce((sum, share) => sum + share, 0) * 10) / 10;
}
