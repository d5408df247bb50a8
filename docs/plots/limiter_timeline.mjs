// Draws docs/plots/limiter_timeline.svg, the timeline of docs/limiter.md:
//
//   node docs/plots/limiter_timeline.mjs
import { writeFileSync } from "node:fs";

import { gcra } from "../../mod.ts";

const SECOND = 1_000;
const [WIDTH, LEFT, TOP, HEIGHT] = [760, 60, 50, 180];
const SPAN = 40 * SECOND;

const algorithm = gcra({ limit: 6, period: "1m", burst: 3 });
const calls = [[0, 2, "consume 2"], [5, 2, "consume 2"], [10, 2, "consume 2"], [25, -1, "refund 1"]];

const x = (now) => (LEFT + (WIDTH - LEFT - 20) * now / SPAN).toFixed(1);
const y = (units) => (TOP + HEIGHT * (1 - units / algorithm.capacity)).toFixed(1);
const text = (left, top, words, more = "") => `<text x="${left}" y="${top}" ${more}>${words}</text>`;

/** A bar under the plot, from a call for so long. */
function duration(row, seconds, milliseconds, words) {
  const top = TOP + HEIGHT + 45 + 24 * row;
  const [from, to] = [x(seconds * SECOND), x(seconds * SECOND + milliseconds)];
  return `<path class="bar" d="M${from} ${top - 5}v10M${from} ${top}H${to}M${to} ${top - 5}v10"/>` +
    text(Number(to) + 6, top + 4, `${words}: ${milliseconds}`);
}

let state = algorithm.initial;
let line = "";
let marks = "";
let bars = "";
const used = (now) => Math.max(0, (state - now) / (10 * SECOND));
let last = 0;
for (const [seconds, cost, words] of calls) {
  const now = seconds * SECOND;
  for (; last < now; last += 100) line += `${line === "" ? "M" : "L"}${x(last)} ${y(used(last))}`;
  const before = used(now);
  const [decision, next] = algorithm.step(state, now, cost);
  state = next;
  line += `${line === "" ? "M" : "L"}${x(now)} ${y(before)}L${x(now)} ${y(used(now))}`;
  const kind = decision.allowed ? "admitted" : "refused";
  marks += `<circle class="${kind}" cx="${x(now)}" cy="${y(used(now))}" r="5"/>`;
  const above = decision.allowed ? -8 : 22;
  marks += text(Number(x(now)) + (decision.allowed ? 8 : -20), Number(y(used(now))) + above, `${words}: ${cost < 0 ? "given back" : kind}`);
  if (seconds === 0) {
    bars += duration(0, 0, decision.nextAfter, "nextAfter");
    bars += duration(2, 0, decision.resetAfter, "resetAfter");
  }
  if (seconds === 5) bars += duration(1, 5, decision.retryAfter, "retryAfter");
}
for (; last <= SPAN; last += 100) line += `L${x(last)} ${y(used(last))}`;

const grid = [0, 1, 2, 3].map((units) =>
  `<path class="grid" d="M${LEFT} ${y(units)}H${WIDTH - 20}"/>` +
  text(LEFT - 10, Number(y(units)) + 4, units, 'text-anchor="end"')
).join("");
const axis = [0, 5, 10, 15, 20, 25, 30, 35, 40].map((seconds) =>
  text(x(seconds * SECOND), TOP + HEIGHT + 20, `${seconds} s`, 'text-anchor="middle"')
).join("");
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${TOP + HEIGHT + 115}" role="img">
<title>Units in use of gcra({ limit: 6, period: "1m", burst: 3 }) over 40 seconds</title>
<style>
  text { font: 13px system-ui, sans-serif; fill: #333; }
  path { fill: none; stroke-width: 1.5; }
  .grid { stroke: #ddd; stroke-width: 1; }
  .use { stroke: #2563eb; stroke-width: 2.5; }
  .bar { stroke: #666; }
  .admitted { fill: #2563eb; }
  .refused { fill: #dc2626; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd; }
    .grid { stroke: #444; }
    .bar { stroke: #aaa; }
    .use { stroke: #60a5fa; }
    .admitted { fill: #60a5fa; }
    .refused { fill: #f87171; }
  }
</style>
${text(LEFT, 24, 'units in use of gcra({ limit: 6, period: "1m", burst: 3 }): one drains in 10 s')}
${grid}
${axis}
<path class="use" d="${line}"/>
${marks}
${bars}
</svg>
`;
writeFileSync(new URL("limiter_timeline.svg", import.meta.url), svg);
