import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Metric from "effect/Metric";

import type { Decision } from "../../core/decision.ts";

/**
 * Counts verdicts, by `prefix` of the limit, `verdict` (`"admitted"`, `"refused"`) and `source`
 * (`"store"`, `"fallback"`, `"policy"`). Keys are no attributes: there is no bound on them.
 */
export const decisionsMetric: Metric.Counter<number> = Metric.counter("tidegate_decisions", {
  description: "Verdicts of rate limits",
  incremental: true,
});

/** Counts the units that admitted calls took, by `prefix`. */
export const unitsMetric: Metric.Counter<number> = Metric.counter("tidegate_units", {
  description: "Units taken from rate limits",
  incremental: true,
});

/** How long fibers waited for admission, by `prefix`. */
export const waitMetric: Metric.Histogram<Duration.Duration> = Metric.timer("tidegate_wait", {
  description: "Time spent waiting for rate limits",
});

/** What a limit's calls count. */
export interface LimitMetrics {
  /** Counts a verdict; a look (cost 0) is none. */
  readonly count: (decision: Decision, cost: number) => Effect.Effect<void>;
  /** Notes how long an admitted fiber waited. */
  readonly waited: (milliseconds: number) => Effect.Effect<void>;
}

/** The metrics of one limit, with their attributes filled in once. */
export function limitMetrics(prefix: string): LimitMetrics {
  const units = withPrefix(unitsMetric, { prefix });
  const wait = Metric.withAttributes(waitMetric, { prefix });
  const counters = new Map<string, Metric.Counter<number>>();

  function counterOf(verdict: string, source: string): Metric.Counter<number> {
    const name = `${verdict} ${source}`;
    const counter = counters.get(name) ??
      withPrefix(decisionsMetric, { prefix, verdict, source });
    counters.set(name, counter);
    return counter;
  }

  return {
    count({ allowed, source = "store" }, cost) {
      if (cost === 0) return Effect.void;
      const counted = Metric.update(counterOf(allowed ? "admitted" : "refused", source), 1);
      return allowed ? Effect.andThen(counted, Metric.update(units, cost)) : counted;
    },
    waited: (milliseconds) => Metric.update(wait, Duration.millis(Math.max(0, milliseconds))),
  };
}

function withPrefix(
  metric: Metric.Counter<number>,
  attributes: Readonly<Record<string, string>>,
): Metric.Counter<number> {
  return Metric.withAttributes(metric, attributes) as Metric.Counter<number>;
}
