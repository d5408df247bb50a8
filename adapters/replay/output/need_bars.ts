/*
 * Draws advice as bars for a terminal: how many clients need how much, and where the limit lies.
 */

import type { NeedBin, PartAdvice } from "../advise/advice.ts";
import { count } from "./format_numbers.ts";

const LONGEST = 40;

/** One row for each power of two of the need, and one at the limit. */
export function needBars({ needs, limits }: PartAdvice): readonly string[] {
  const [{ limit, burst }] = limits as [PartAdvice["limits"][0]];
  const at = limit + burst;
  const names = needs.map(({ from, to }) =>
    from === to ? count(from) : `${count(from)} - ${count(to)}`
  );
  const width = Math.max(...names.map(({ length }) => length));
  const most = Math.max(...needs.map(({ ordinary, setAside }) => ordinary + setAside));
  const rows = needs.map((bin, index) => `${names[index]!.padStart(width)}  ${barOf(bin, most)}`);
  const above = needs.findIndex(({ from }) => from > at);
  const mark = `${"limit".padStart(width)}  ${"- ".repeat(LONGEST / 2)} at most ${count(at)}`;
  return above === -1 ? [...rows, mark] : [...rows.slice(0, above), mark, ...rows.slice(above)];
}

function barOf({ ordinary, setAside }: NeedBin, most: number): string {
  const length = (clients: number) =>
    clients === 0
      ? 0
      : 1 + Math.round((LONGEST - 1) * Math.log(clients) / Math.log(Math.max(2, most)));
  const text = [
    ...(ordinary > 0 ? [`${"#".repeat(length(ordinary))} ${count(ordinary)}`] : []),
    ...(setAside > 0 ? [`${"x".repeat(length(setAside))} ${count(setAside)} set aside`] : []),
  ];
  return text.join("  ");
}
