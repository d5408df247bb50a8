/*
 * Metrics of limits in Effect's own registry, so that they are exported with the application's
 * other metrics.
 */

import type * as Context from "effect/Context";
import * as Duration from "effect/Duration";
import * as Metric from "effect/Metric";

import type { Decision } from "../../core/decision.ts";

const DECISIONS = "tidegate_decisions";
const UNITS = "tidegate_units";
const WAIT = "tidegate_wait";

const decisionsOptions = { description: "Verdicts of rate limits", incremental: true } as const;
const unitsOptions = { description: "Units taken from rate limits", incremental: true } as const;
const waitOptions = { description: "Time spent waiting for rate limits" } as const;

/**
 * Counts verdicts, by `prefix` of the limit, `verdict` (`"admitted"`, `"refused"`) and `source`
 * (`"store"`, `"fallback"`, `"policy"`). Keys are not attributes: their number has no bound.
 */
export const decisionsMetric: Metric.Counter<number> = Metric.counter(DECISIONS, decisionsOptions);

/** Counts the units that admitted calls took, by `prefix`. */
export const unitsMetric: Metric.Counter<number> = Metric.counter(UNITS, unitsOptions);

/** How long fibers waited for admission, by `prefix`. */
export const waitMetric: Metric.Histogram<Duration.Duration> = Metric.timer(WAIT, waitOptions);

/** The counts of a limit's calls, in the registry of a fiber's context. */
export type LimitMetrics = ReturnType<typeof limitMetrics>;

/**
 * The metrics of one limit: the series of the metrics above with its prefix. They are made once,
 * because adding attributes to an update costs several times the update.
 */
export function limitMetrics(prefix: string) {
  const units = Metric.counter(UNITS, { ...unitsOptions, attributes: { prefix } });
  const wait = Metric.timer(WAIT, { ...waitOptions, attributes: { prefix } });
  const counters = new Map<string, Metric.Counter<number>>();

  function counterOf(verdict: string, source: string): Metric.Counter<number> {
    const name = `${verdict} ${source}`;
    let counter = counters.get(name);
    if (counter === undefined) {
      const attributes = { prefix, verdict, source };
      counter = Metric.counter(DECISIONS, { ...decisionsOptions, attributes });
      counters.set(name, counter);
    }
    return counter;
  }

  return {
    /** Counts a verdict, except for calls of cost 0, which only look. */
    count({ allowed, source }: Decision, cost: number, context: Context.Context<never>): void {
      if (cost === 0) return;
      counterOf(allowed ? "admitted" : "refused", source ?? "store").updateUnsafe(1, context);
      if (allowed) units.updateUnsafe(cost, context);
    },
    /** Notes how long an admitted fiber waited. */
    waited: (milliseconds: number, context: Context.Context<never>): void =>
      wait.updateUnsafe(Duration.millis(Math.max(0, milliseconds)), context),
  };
}
