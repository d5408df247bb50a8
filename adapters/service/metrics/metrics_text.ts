import { type FiguresSnapshot, LATENCY_BUCKETS, type RuleFigures } from "./figures_snapshot.ts";

/** The content type of Prometheus' text format. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The figures in Prometheus' text format, version 0.0.4. */
export function metricsText(figures: FiguresSnapshot): string {
  const { rules, calls, latency, latencySum, store, threads, process } = figures;
  const decisions = rules.flatMap((figures) => {
    const { admitted, refused, shadowRefused } = figures;
    return Object.entries({ admitted, refused, shadow_refused: shadowRefused })
      .map(([verdict, value]) => [{ ...ruleLabels(figures), verdict }, value] as const);
  });
  let below = 0;
  const buckets = latency.map((number, place) => {
    below += number;
    return [{ le: String(LATENCY_BUCKETS[place] ?? "+Inf") }, below] as const;
  });
  return [
    family("tidegate_decisions_total", "counter", "Verdicts by rule.", decisions),
    family(
      "tidegate_near_limit_total",
      "counter",
      "Calls admitted with at most a fifth of the limit left.",
      rules.map((figures) => [ruleLabels(figures), figures.nearLimit]),
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
    family("tidegate_call_seconds_bucket", "histogram", "How long calls took.", buckets),
    `tidegate_call_seconds_sum ${latencySum}\ntidegate_call_seconds_count ${below}\n`,
    ...Object.entries(store).map(([name, value]) =>
      family(`tidegate_store_${snakeCase(name)}`, "gauge", "A figure of the store.", [[{}, value]])
    ),
    family("tidegate_threads", "gauge", "Threads that serve.", [[{}, threads]]),
    ...Object.entries(process).map(([name, value]) =>
      family(name, name.endsWith("_total") ? "counter" : "gauge", helpOf(name), [[{}, value]])
    ),
  ].join("");
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
