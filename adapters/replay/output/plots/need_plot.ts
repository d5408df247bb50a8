/*
 * Shows how many clients need how much within a period, and where the advised limit lies: clients
 * that were set aside stand apart, in another colour.
 */

import type { NeedBin, PartAdvice } from "../../advise/advice.ts";
import { count } from "../format_numbers.ts";
import { logarithmic, type Scale } from "./axis.ts";
import { box, element, label, line, picture } from "./svg.ts";

const ROW = 20;
const TOP = 26;
const NUMBERS = 120;

/** A bar for each doubling of the need; lengths are logarithmic, so that one client is visible. */
export function needPlot(title: string, { needs, limits }: PartAdvice, width = 760): string {
  const [{ limit, burst }] = limits as [PartAdvice["limits"][0]];
  const at = limit + burst;
  const names = needs.map(({ from, to }) =>
    from === to ? count(from) : `${count(from)} to ${count(to)}`
  );
  const left = 14 + 7 * Math.max(9, ...names.map(({ length }) => length));
  const right = width - NUMBERS;
  const most = Math.max(2, ...needs.map(({ ordinary, setAside }) => ordinary + setAside));
  const x = logarithmic(0.7, most, left, right);
  const above = needs.findIndex(({ from }) => from > at);
  const limitRow = above === -1 ? needs.length : above;
  const rowOf = (index: number) => TOP + (index + (index >= limitRow ? 1 : 0)) * ROW;
  const limitTop = TOP + limitRow * ROW + ROW / 2;
  const bottom = TOP + (needs.length + 1) * ROW;
  return picture(width, bottom + 8, title, [
    label(left - 8, 14, "need", { class: "soft", anchor: "end" }),
    label(left, 14, "clients", { class: "soft" }),
    ...needs.flatMap((bin, index) => [
      label(left - 8, rowOf(index) + 14, names[index]!, { anchor: "end" }),
      ...bars(bin, x, left, rowOf(index)),
    ]),
    line(left, limitTop, right, limitTop, "limit"),
    label(right + 8, limitTop + 4, `at most ${count(at)}`, { class: "alarm" }),
  ]);
}

function bars({ ordinary, setAside }: NeedBin, x: Scale, left: number, top: number) {
  const middle = ordinary === 0 ? left : x(ordinary);
  const end = setAside === 0 ? middle : x(ordinary + setAside);
  const text = [
    ...(ordinary > 0 ? [count(ordinary)] : []),
    ...(setAside > 0 ? [`${count(setAside)} set aside`] : []),
  ].join(", ");
  return [
    element("path", {
      class: "calm",
      d: ordinary === 0 ? "" : box(left, top + 3, middle, top + ROW - 3),
    }),
    element("path", {
      class: "alarm",
      d: setAside === 0 ? "" : box(middle, top + 3, Math.max(end, middle + 3), top + ROW - 3),
    }),
    ...(text === "" ? [] : [
      label(Math.max(end, middle + 3) + 6, top + 14, text, {
        class: setAside > 0 ? "alarm" : "soft",
      }),
    ]),
  ];
}
