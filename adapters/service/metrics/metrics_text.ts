/*
 * The answer to `GET /metrics`. The format is simple, so it is written here and needs no package.
 */

import type { FiguresSnapshot, RuleFigures } from "./figures_snapshot.ts";
import { type Histogram, LATENCY_BUCKETS } from "./histogram.ts";

/** The content type of Prometheus' text format. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The figures in Prometheus' text format, version 0.0.4. */
export function metricsText(figures: FiguresSnapshot, version: string): string {
  const { rules, calls, latency, latencySum, store, roundTrips, threads, process } = figures;
  const decisions = rules.flatMap((figures) => {
    const { admitted, refused, shadowRefused, unavailable } = figures;
    return Object.entries({ admitted, refused, shadow_refused: shadowRefused, unavailable })
      .map(([verdict, value]) => [{ ...ruleLabels(figures), verdict }, value] as const);
  });
  return [
    family("tidegate_decisions_total", "counter", "Verdicts by rule.", decisions),
    family(
      "tidegate_near_limit_total",
      "counter",
      "Units taken of the last fifth of the limit.",
      rules.map((figures) => [ruleLabels(figures), figures.nearLimit]),
    ),
    family(
      "tidegate_over_limit_total",
      "counter",
      "Units refused, or charged beyond the limit.",
      rules.map((figures) => [ruleLabels(figures), figures.overLimit]),
    ),
    family(
      "tidegate_calls_total",
      "counter",
      "Calls by route and status.",
      Object.entries(calls).map(([name, value]) => {
        const [route = "", status = ""] = name.split(" ");
        return [{ route, status }, value];
      }),
    ),
    histogram("tidegate_call_seconds", "How long calls took.", {
      counts: latency,
      sum: latencySum,
    }),
    histogram("tidegate_loop_delay_seconds", "How late timers came.", figures.loopDelays),
    roundTrips === undefined ? "" : histogram(
      "tidegate_redis_round_trip_seconds",
      "How long Redis took to answer.",
      roundTrips,
    ),
    // The figures of the Redis store only grow; other stores report what they hold.
    ...Object.entries(store).map(([name, value]) =>
      roundTrips === undefined
        ? single(`tidegate_store_${snakeCase(name)}`, "A figure of the store.", value)
        : single(`tidegate_redis_${snakeCase(name)}_total`, "A figure of Redis' store.", value)
    ),
    single(
      "tidegate_outage",
      "1 while the store does not answer.",
      figures.unavailableSince === 0 ? 0 : 1,
    ),
    family("tidegate_rules_info", "gauge", "The version of the rules in force.", [[
      { version },
      1,
    ]]),
    single("tidegate_threads", "Threads that serve.", threads),
    ...Object.entries(process).map(([name, value]) => single(name, helpOf(name), value)),
  ].join("");
}

function histogram(name: string, help: string, { counts, sum }: Histogram): string {
  let below = 0;
  const buckets = counts.map((count, index) => {
    below += count;
    return [{ le: String(LATENCY_BUCKETS[index] ?? "+Inf") }, below] as const;
  });
  return `${family(`${name}_bucket`, "histogram", help, buckets)}${name}_sum ${sum}\n` +
    `${name}_count ${below}\n`;
}

function ruleLabels({ domain, rule, key }: RuleFigures): Readonly<Record<string, string>> {
  return key === undefined ? { domain, rule } : { domain, rule, key };
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

function family(name: string, type: string, help: string, samples: readonly Sample[]): string {
  const title = name.replace(/_bucket$/, "");
  const lines = samples.map(([labels, value]) => `${name}${labelText(labels)} ${value}\n`);
  return `# HELP ${title} ${help}\n# TYPE ${title} ${type}\n${lines.join("")}`;
}

/** A family of one sample; the names of counters end with `_total`. */
function single(name: string, help: string, value: number): string {
  return family(name, name.endsWith("_total") ? "counter" : "gauge", help, [[{}, value]]);
}

/** `tidegate_rules_loads_total` in words. */
function helpOf(name: string): string {
  return `${name.replace(/^tidegate_|_total$/g, "").replaceAll("_", " ")}.`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
