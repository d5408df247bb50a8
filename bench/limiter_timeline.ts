/*
 * Draws docs/plots/limiter_timeline.svg, the timeline of docs/limiter.md:
 *
 *   bun bench/limiter_timeline.ts
 */
import { writeFileSync } from "node:fs";

import { linear, timeAxis } from "../adapters/replay/output/plots/axis.ts";
import { element, label, line } from "../adapters/replay/output/plots/svg.ts";
import { benchPicture } from "./bench_picture.ts";
import { gcra } from "../mod.ts";
import { track } from "./series_lines.ts";
import { valueAxis } from "./value_axis.ts";

const SECOND = 1_000;
const SPAN = 40 * SECOND;
const [WIDTH, LEFT, RIGHT, TOP, BOTTOM] = [760, 60, 20, 50, 230];

const algorithm = gcra({ limit: 6, period: "1m", burst: 3 });
const CALLS = [
  { second: 0, cost: 2 },
  { second: 5, cost: 2 },
  { second: 10, cost: 2 },
  { second: 25, cost: -1 },
] as const;

const x = linear(0, SPAN, LEFT, WIDTH - RIGHT);
const y = linear(0, algorithm.capacity, BOTTOM, TOP);

writeFileSync(new URL("../docs/plots/limiter_timeline.svg", import.meta.url), `${timeline()}\n`);

function timeline(): string {
  const points: [x: number, y: number][] = [];
  const marks: string[] = [];
  const bars: string[] = [];
  let state = algorithm.initial;
  let at = 0;
  const unitsAt = (now: number) => Math.max(0, ((state as number) - now) / (10 * SECOND));
  const drainUntil = (now: number) => {
    for (; at < now; at += 100) points.push([x(at), y(unitsAt(at))]);
    points.push([x(now), y(unitsAt(now))]);
  };
  for (const { second, cost } of CALLS) {
    const now = second * SECOND;
    drainUntil(now);
    const [decision, next] = algorithm.step(state, now, cost);
    state = next;
    points.push([x(now), y(unitsAt(now))]);
    marks.push(...callMark(now, unitsAt(now), cost, decision.allowed));
    if (second === 0) {
      bars.push(...duration(0, 0, decision.nextAfter, "nextAfter"));
      bars.push(...duration(2, 0, decision.resetAfter, "resetAfter"));
    }
    if (!decision.allowed) bars.push(...duration(1, now, decision.retryAfter, "retryAfter"));
  }
  drainUntil(SPAN);
  const title = 'Units in use of gcra({ limit: 6, period: "1m", burst: 3 }) over 40 seconds';
  return benchPicture(WIDTH, BOTTOM + 115, title, [
    label(
      LEFT,
      24,
      'units in use of gcra({ limit: 6, period: "1m", burst: 3 }): one drains in 10 s',
    ),
    ...valueAxis(y, [0, 1, 2, 3], LEFT, WIDTH - RIGHT),
    ...timeAxis(x, 0, SPAN, TOP, BOTTOM, (tick) => `${tick / SECOND} s`),
    element("path", { class: "series s0", d: track(points) }),
    ...marks,
    ...bars,
  ]);
}

/** A dot where a call found the key, and its verdict. */
function callMark(now: number, units: number, cost: number, isAllowed: boolean): readonly string[] {
  const [left, top] = [x(now), y(units)];
  const name = cost < 0 ? "refund 1: given back" : `consume ${cost}`;
  const verdict = cost < 0 ? "" : isAllowed ? ": admitted" : ": refused";
  return [
    element("circle", { class: isAllowed ? "calm" : "alarm", cx: left, cy: top, r: 5 }),
    isAllowed
      ? label(left + 8, top - 8, name + verdict)
      : label(left - 60, top + 40, name + verdict),
  ];
}

/** A bar below the plot that begins at a call. */
function duration(row: number, from: number, length: number, name: string): readonly string[] {
  const top = BOTTOM + 45 + 24 * row;
  const [start, end] = [x(from), x(from + length)];
  return [
    line(start, top - 5, start, top + 5, "axis"),
    line(start, top, end, top, "axis"),
    line(end, top - 5, end, top + 5, "axis"),
    label(end + 6, top + 4, `${name}: ${length}`),
  ];
}
