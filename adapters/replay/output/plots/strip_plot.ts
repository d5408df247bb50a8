import { count } from "../format_numbers.ts";
import type { ClientReport } from "../../replay_report.ts";
import { fitting, linear, timeAxis } from "./axis.ts";
import { box, element, label, picture } from "./svg.ts";

const RIGHT = 92;
const ROW = 18;
const TOP = 24;

/** Clients over time, a strip each: a mark where it came, red and taller where it was refused. */
export function stripPlot(
  title: string,
  clients: readonly ClientReport[],
  start: number,
  end: number,
  width = 760,
): string {
  const left = Math.max(130, width / 4);
  const right = width - RIGHT;
  const x = linear(0, Math.max(1, end - start), left, right);
  const bottom = TOP + clients.length * ROW;
  const rows = clients.flatMap((client, place) =>
    strip(client, TOP + place * ROW, start, x, right)
  );
  return picture(width, bottom + 24, title, [
    ...timeAxis(x, end - start, TOP, bottom),
    label(left - 8, 14, "client", { class: "soft", anchor: "end" }),
    label(right + 8, 14, "refused", { class: "soft" }),
    ...rows,
  ]);
}

function strip(
  { key, denied, requests, timeline }: ClientReport,
  top: number,
  start: number,
  x: (value: number) => number,
  right: number,
): readonly string[] {
  const names = x(0) - 8;
  const marks = (kind: "allowed" | "denied", inset: number) =>
    timeline[kind].map((units, bin) => {
      if (units === 0) return "";
      const from = x(timeline.start - start + bin * timeline.width);
      const to = Math.min(right, from + Math.max(1.2, x(timeline.width) - x(0)));
      return box(from, top + inset, to, top + ROW - inset);
    }).join("");
  return [
    label(names, top + 13, fitting(key, names), { anchor: "end" }),
    element("path", { class: "calm", d: marks("allowed", 6) }),
    element("path", { class: "alarm", d: marks("denied", 2) }),
    label(right + 8, top + 13, `${count(denied)} of ${count(requests)}`, {
      class: denied > 0 ? "alarm" : "soft",
    }),
  ];
}
