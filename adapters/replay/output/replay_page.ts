import { checkOptions } from "../../../core/toolkit.ts";
import { count, durationText, instantText, percent } from "./format_numbers.ts";
import { stripPlot } from "./plots/strip_plot.ts";
import { escaped } from "./plots/svg.ts";
import { sweepPlot } from "./plots/sweep_plot.ts";
import { timelinePlot } from "./plots/timeline_plot.ts";
import { notes, shareName } from "./replay_table.ts";
import type { CandidateReport, ReplayReport } from "../replay_report.ts";
import type { SweepReport } from "../sweep.ts";

/** The options of `replayPage`. */
export interface ReplayPageOptions {
  /** The page's title; default `"Replay"`. */
  readonly title?: string | undefined;
  /** What `sweep` returned, if that is to be shown too. */
  readonly sweeps?: readonly SweepReport[] | undefined;
}

/**
 * The report as one HTML page: tables, and plots of what would have been admitted and refused over
 * time, of the clients hit hardest, and of how low the limits may be.
 *
 * It needs no other file and no script, and follows the reader's light or dark theme. What comes
 * from the log is escaped.
 *
 * @param report What `replay` returned.
 * @param options As above.
 */
export function replayPage(report: ReplayReport, options: ReplayPageOptions = {}): string {
  checkOptions<ReplayPageOptions>("write a page", options, { title: true, sweeps: true });
  const { title = "Replay", sweeps = [] } = options;
  const { candidates, start, end } = report;
  const timelines = candidates.map(({ name, timeline }) => ({ name, bins: timeline }));
  const body = [
    `<h1>${escaped(title)}</h1>`,
    `<p>${escaped(summaryOf(report))}</p>`,
    ...notes(report).map((note) => `<p class="note">${escaped(note)}.</p>`),
    candidateTable(report),
    `<h2>Over time</h2>`,
    figure(timelinePlot("Units admitted and refused over time", timelines)),
    `<h2>The clients hit hardest</h2>`,
    ...candidates.flatMap(({ name, clients }) =>
      clients.length === 0 ? [] : [
        `<h3>${escaped(name)}</h3>`,
        figure(stripPlot(`Clients under ${name}`, clients, start, end)),
      ]
    ),
    ...sweepSection(sweeps),
    `<p class="note">A log shows what clients did when nothing held them back. It does not show
      whether those who are refused come again, and its times are only as exact as they were
      written.</p>`,
  ];
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<style>${PAGE_STYLE}</style>
<main>
${body.join("\n")}
</main>
</html>
`;
}

function summaryOf({ requests, units, clients, start, end }: ReplayReport): string {
  return `${count(requests)} requests of ${count(clients)} ${
    clients === 1 ? "client" : "clients"
  }, ${count(units)} units, in ${durationText(end - start)} from ${instantText(start)} UTC.`;
}

function candidateTable({ candidates, requests, clients }: ReplayReport): string {
  const head = ["candidate", "refused", "%", "clients hit", "longest lock-out"];
  const rows = candidates.map((candidate) => [
    candidate.name,
    count(candidate.denied),
    percent(candidate.denied, requests),
    `${count(candidate.clientsHit)} of ${count(clients)}`,
    lockOutOf(candidate),
  ]);
  return table(head, rows);
}

function lockOutOf({ longestLockOut }: CandidateReport): string {
  return longestLockOut === undefined ? "none" : durationText(longestLockOut.milliseconds);
}

function sweepSection(sweeps: readonly SweepReport[]): readonly string[] {
  const [first] = sweeps;
  if (first === undefined) return [];
  const head = ["algorithm", ...first.smallest.map(({ share }) => shareName(share))];
  const rows = sweeps.map(({ name, smallest }) => [
    name,
    ...smallest.map(({ limit }) => count(limit)),
  ]);
  return [
    "<h2>How low may the limit be?</h2>",
    figure(sweepPlot("Requests refused against the limit", sweeps)),
    "<p>The smallest limit that hits at most so many:</p>",
    table(head, rows),
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]) =>
    `<tr>${row.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  return `<div class="wide"><table>${cells("th", head)}${
    rows.map((row) => cells("td", row)).join("")
  }</table></div>`;
}

function figure(plot: string): string {
  return `<figure>${plot}</figure>`;
}

const PAGE_STYLE = `
:root{color-scheme:light dark}
body{margin:0;font:16px/1.5 system-ui,sans-serif;color:#1f2328;background:#fff}
main{max-width:800px;margin:0 auto;padding:24px 20px 64px}
h1{font-size:1.6rem;margin:0 0 .3em}h2{font-size:1.2rem;margin:2em 0 .5em}
h3{font-size:1rem;margin:1.4em 0 .2em}
figure{margin:0;overflow-x:auto}.plot{width:100%;min-width:560px;height:auto;display:block}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:4px 10px;text-align:right;border-bottom:1px solid #d8dee4;white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
th{font-weight:600}.note{color:#59636e;font-size:.9rem}
@media (prefers-color-scheme:dark){
body{color:#e6edf3;background:#0d1117}th,td{border-color:#30363d}.note{color:#9aa4af}}
`;
