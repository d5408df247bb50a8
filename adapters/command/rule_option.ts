/*
 * Limits as the command line writes them: `gcra:60/1m,burst=10`.
 */

import {
  errorMessage,
  formatValue,
  type Period,
  readPeriod,
} from "../../core/application_support.ts";
import type { Candidate } from "../replay/replay.ts";
import { type AlgorithmName, algorithmOf, type LimitOptions } from "../rules/rules.ts";

/** The limit of `--rule`, to be tried on a log. */
export function candidateOf(rule: string): Candidate {
  const options = ruleOf(rule);
  const algorithm = algorithmOf(options);
  return { name: rule, algorithm, make: (limit) => algorithmOf(withLimit(options, limit)) };
}

/**
 * The same rule with another limit, or with the largest that its bucket can reach, which admits the
 * same. A burst that equals the limit changes with it.
 */
function withLimit(options: LimitOptions, limit: number): LimitOptions {
  const { burst = 1, queue = 0, period } = options;
  if (options.burst === options.limit) return { ...options, limit, burst: limit };
  if (options.burst === undefined && options.queue === undefined) return { ...options, limit };
  const reachable = (queue + burst) * readPeriod("read --rule", "its period", period!);
  return { ...options, limit: Math.min(limit, reachable) };
}

/** A name, a limit, a period, and options of the factory. */
function ruleOf(text: string): LimitOptions {
  const match = /^(\w+):(\d+)\/(\w+)((?:,\w+=\w+)*)$/.exec(text);
  if (match === null) {
    throw new TypeError(
      `Cannot read --rule as it must look like gcra:60/1m,burst=10 or slidingLog:60/1m: ` +
        `current value is ${formatValue(text)}`,
    );
  }
  const [, algorithm, limit, period, rest = ""] = match;
  const options = rest.split(",").filter((option) => option !== "").map((option) => {
    const [name = "", value = ""] = option.split("=");
    return [name, name === "precision" ? periodOf(name, value) : valueOf(value)] as const;
  });
  return {
    algorithm: algorithm as AlgorithmName,
    limit: Number(limit),
    period: periodOf("period", period!),
    ...Object.fromEntries(options),
  };
}

/** A period must have its unit: on a command line, a number alone may be meant as seconds. */
function periodOf(name: string, text: string): Period {
  if (/^\d+$/.test(text)) {
    const rule = `its ${name} must have a unit, such as 500ms, 10s, 1m, 1h or 1d`;
    throw new RangeError(errorMessage("read --rule", rule, text));
  }
  readPeriod("read --rule", `its ${name}`, text as Period);
  return text as Period;
}

/** Digits are a number; anything else is text, such as a period with its unit. */
function valueOf(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text;
}
