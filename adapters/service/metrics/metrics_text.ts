/*
 * The answer to `GET /metrics`. The format is simple, so it is written here and needs no package.
 */

import type { FiguresSnapshot, RuleFigures } from "./figures_snapshot.ts";
import { type Histogram, LATENCY_BUCKETS } from "./histogram.ts";

/** The content type of Prometheus' text format. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** A value, or several with labels. */
type Samples = number | readonly (readonly [labels: Labels, value: number])[];

type Labels = Readonly<Record<string, string>>;

/** The figures in Prometheus' text format, version 0.0.4. */
export function metricsText(figures: FiguresSnapshot, version: string): string {
  const { rules, calls, latency, latencySum, store, roundTrips } = figures;
  const decisions = rules.flatMap((figures) => {
    const { admitted, refused, shadowRefused, unavailable } = figures;
    return Object.entries({ admitted, refused, shadow_refused: shadowRefused, unavailable })
      .map(([verdict, value]) => [{ ...labelsOf(figures), verdict }, value] as const);
  });
  const near = rules.map((figures) => [labelsOf(figures), figures.nearLimit] as const);
  const over = rules.map((figures) => [labelsOf(figures), figures.overLimit] as const);
  const byCall = Object.entries(calls).map(([name, value]) => {
    const [route = "", status = ""] = name.split(" ");
    return [{ route, status }, value] as const;
  });
  // The figures of the Redis store only grow; other stores report what they hold.
  const ofStore = Object.entries(store).map(([name, value]): [string, string, Samples] =>
    roundTrips === undefined
      ? [`store_${snakeCase(name)}`, "A figure of the store.", value]
      : [`redis_${snakeCase(name)}_total`, "A figure of Redis' store.", value]
  );
  const families: readonly (readonly [name: string, help: string, samples: Samples])[] = [
    ["decisions_total", "Verdicts by rule.", decisions],
    ["near_limit_total", "Units taken of the last fifth of the limit.", near],
    ["over_limit_total", "Units refused, or charged beyond the limit.", over],
    ["calls_total", "Calls by route and status.", byCall],
    ...ofStore,
    ["outage", "1 while the store does not answer.", figures.unavailableSince === 0 ? 0 : 1],
    ["rules_info", "The version of the rules in force.", [[{ version }, 1]]],
    ["threads", "Threads that serve.", figures.threads],
  ];
  return [
    ...families.map(([name, ...rest]) => family(`tidegate_${name}`, ...rest)),
    histogram("tidegate_call_seconds", "How long calls took.", {
      counts: latency,
      sum: latencySum,
    }),
    histogram("tidegate_loop_delay_seconds", "How late timers came.", figures.loopDelays),
    histogram("tidegate_redis_round_trip_seconds", "How long Redis took to answer.", roundTrips),
    ...Object.entries(figures.process).map(([name, value]) => family(name, helpOf(name), value)),
  ].join("");
}

function labelsOf({ domain, rule, key }: RuleFigures): Labels {
  return key === undefined ? { domain, rule } : { domain, rule, key };
}

function histogram(name: string, help: string, times: Histogram | undefined): string {
  if (times === undefined) return "";
  let below = 0;
  const buckets = times.counts.map((count, index) => {
    below += count;
    return [{ le: String(LATENCY_BUCKETS[index] ?? "+Inf") }, below] as const;
  });
  return `${family(`${name}_bucket`, help, buckets)}${name}_sum ${times.sum}\n` +
    `${name}_count ${below}\n`;
}

/** A family of samples, whose type follows from its name. */
function family(name: string, help: string, samples: Samples): string {
  const title = name.replace(/_bucket$/, "");
  const type = title !== name ? "histogram" : name.endsWith("_total") ? "counter" : "gauge";
  const all = typeof samples === "number" ? [[{}, samples] as const] : samples;
  const lines = all.map(([labels, value]) => `${name}${labelText(labels)} ${value}\n`);
  return `# HELP ${title} ${help}\n# TYPE ${title} ${type}\n${lines.join("")}`;
}

/** `tidegate_rules_loads_total` in words. */
function helpOf(name: string): string {
  return `${name.replace(/^tidegate_|_total$/g, "").replaceAll("_", " ")}.`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
