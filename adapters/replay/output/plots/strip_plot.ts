/*
 * Shows when each client was refused: in one burst, or all day long, which the totals of a report
 * do not tell.
 */

import { count } from "../format_numbers.ts";
import type { ClientReport } from "../../replay_report.ts";
import { CHARACTER, fitting, linear, type Scale, timeAxis } from "./axis.ts";
import { label, picture } from "./svg.ts";
import { bars } from "./timeline_plot.ts";

const ROW = 18;
const TOP = 24;

/** Clients over time, a strip each: a mark for its requests, red and taller for refusals. */
export function stripPlot(
  title: string,
  clients: readonly ClientReport[],
  start: number,
  end: number,
  width = 760,
): string {
  const left = Math.max(130, width / 4);
  const counts = clients.map(({ denied, requests }) => `${count(denied)} of ${count(requests)}`);
  const right = width - 8 - Math.max(11, ...counts.map(({ length }) => length)) * CHARACTER;
  const x = linear(0, Math.max(1, end - start), left, right);
  const bottom = TOP + clients.length * ROW;
  const rows = clients.flatMap((client, index) =>
    strip(client, counts[index]!, TOP + index * ROW, start, x, right)
  );
  return picture(width, bottom + 24, title, [
    ...timeAxis(x, start, end - start, TOP, bottom),
    label(left - 8, 14, "client", { class: "soft", anchor: "end" }),
    label(right + 8, 14, "refused", { class: "soft" }),
    ...rows,
  ]);
}

function strip(
  { key, denied, timeline }: ClientReport,
  counted: string,
  top: number,
  start: number,
  x: Scale,
  right: number,
): readonly string[] {
  const names = x(0) - 8;
  return [
    label(names, top + 13, fitting(key, names), { anchor: "end" }),
    bars(timeline, "allowed", start, x, right, () => [top + 6, top + ROW - 6]),
    bars(timeline, "denied", start, x, right, () => [top + 2, top + ROW - 2]),
    label(right + 8, top + 13, counted, { class: denied > 0 ? "alarm" : "soft" }),
  ];
}
