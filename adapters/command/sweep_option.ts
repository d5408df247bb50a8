/*
 * The goal of `--sweep`: the smallest limits for a period, or the smallest burst for a limit.
 */

import { formatValue } from "../../core/application_support.ts";
import type { Candidate, SweepFamily, SweepReport } from "../replay/replay.ts";
import { type AlgorithmName, algorithmOf, type LimitOptions } from "../rules/rules.ts";
import { periodOf } from "./rule_option.ts";

/** The numbers to find. */
export interface Sweep {
  readonly families: readonly SweepFamily[];
  /** How `--rule` writes the limit of a family with a number. */
  readonly nameOf: (family: string, found: number) => string;
}

/** The algorithms whose limits are compared. */
const SWEPT: readonly AlgorithmName[] = ["fixedWindow", "slidingCounter", "slidingLog", "gcra"];

/** Reads `1m`, `1m,burst=10` or `60/1m`. */
export function sweepOf(text: string): Sweep {
  const match = /^(?:(\d+)\/)?(\w+)(?:,burst=(\d+))?$/.exec(text);
  const [, limit, period = "", burst] = match ?? [];
  if (match === null || (limit !== undefined && burst !== undefined)) {
    throw new TypeError(
      "Cannot read --sweep as it must be a period, such as 1m or 1m,burst=10, or a limit, such as " +
        `60/1m: current value is ${formatValue(text)}`,
    );
  }
  const length = periodOf("sweep", "period", period);
  return limit === undefined ? sweepOfLimits(length, burst) : sweepOfBursts(Number(limit), length);
}

function sweepOfLimits(period: LimitOptions["period"], burst: string | undefined): Sweep {
  const own = burst === undefined ? {} : { burst: Number(burst) };
  return {
    families: SWEPT.map((algorithm) => ({
      name: algorithm === "gcra" && burst !== undefined ? `gcra,burst=${burst}` : algorithm,
      make: (limit) =>
        algorithmOf({ algorithm, limit, period, ...(algorithm === "gcra" ? own : {}) }),
    })),
    nameOf(family, limit) {
      const [algorithm, ...options] = family.split(",");
      return [`${algorithm}:${limit}/${period}`, ...options].join(",");
    },
  };
}

function sweepOfBursts(limit: number, period: LimitOptions["period"]): Sweep {
  const name = `gcra:${limit}/${period},burst`;
  return {
    families: [{
      name,
      finds: "burst",
      make: (burst) => algorithmOf({ algorithm: "gcra", limit, period, burst }),
    }],
    nameOf: (family, burst) => `${family}=${burst}`,
  };
}

/** The limits in a sweep's result that refuse no client. */
export function foundCandidates(
  { families, nameOf }: Sweep,
  sweeps: readonly SweepReport[],
): readonly Candidate[] {
  return sweeps.flatMap(({ name, smallest }, index): Candidate[] => {
    const { limit = Infinity } = smallest.find(({ share }) => share === 0) ?? {};
    if (limit === Infinity) return [];
    return [{ name: nameOf(name, limit), algorithm: families[index]!.make(limit) }];
  });
}
