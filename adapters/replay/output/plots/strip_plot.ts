import { count } from "../format_numbers.ts";
import type { ClientReport } from "../../replay_report.ts";
import { linear, timeAxis } from "./axis.ts";
import { box, element, label, picture } from "./svg.ts";

const WIDTH = 760;
const LEFT = 190;
const RIGHT = 92;
const ROW = 18;
const TOP = 24;

/** Clients over time, a strip each: a mark where it came, red and taller where it was refused. */
export function stripPlot(
  title: string,
  clients: readonly ClientReport[],
  start: number,
  end: number,
): string {
  const x = linear(0, Math.max(1, end - start), LEFT, WIDTH - RIGHT);
  const bottom = TOP + clients.length * ROW;
  const rows = clients.flatMap((client, place) => strip(client, TOP + place * ROW, start, x));
  return picture(WIDTH, bottom + 24, title, [
    ...timeAxis(x, end - start, TOP, bottom),
    label(LEFT - 8, 14, "client", { class: "soft", anchor: "end" }),
    label(WIDTH - RIGHT + 8, 14, "refused", { class: "soft" }),
    ...rows,
  ]);
}

function strip(
  { key, denied, requests, timeline }: ClientReport,
  top: number,
  start: number,
  x: (value: number) => number,
): readonly string[] {
  const marks = (kind: "allowed" | "denied", inset: number) =>
    timeline[kind].map((units, bin) => {
      if (units === 0) return "";
      const left = x(timeline.start - start + bin * timeline.width);
      const width = Math.max(1.2, x(timeline.width) - x(0));
      return box(left, top + inset, left + width, top + ROW - inset);
    }).join("");
  return [
    label(LEFT - 8, top + 13, shortened(key), { anchor: "end" }),
    element("path", { class: "calm", d: marks("allowed", 6) }),
    element("path", { class: "alarm", d: marks("denied", 2) }),
    label(WIDTH - RIGHT + 8, top + 13, `${count(denied)} of ${count(requests)}`, {
      class: denied > 0 ? "alarm" : "soft",
    }),
  ];
}

function shortened(key: string): string {
  return key.length > 26 ? `${key.slice(0, 25)}\u2026` : key;
}
