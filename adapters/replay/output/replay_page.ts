import { checkOptions } from "../../../core/toolkit.ts";
import { count, durationText, instantText, percent } from "./format_numbers.ts";
import { stripPlot } from "./plots/strip_plot.ts";
import { escaped } from "./plots/svg.ts";
import { sweepPlot } from "./plots/sweep_plot.ts";
import { timelinePlot } from "./plots/timeline_plot.ts";
import {
  answers,
  comparedRequests,
  comparisonRows,
  notes,
  sweepRows,
  unreadLines,
} from "./report_text.ts";
import type { ClientReport, ReplayReport } from "../replay_report.ts";
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
  const { candidates } = report;
  const timelines = candidates.map(({ name, timeline }) => ({ name, bins: timeline }));
  const body = [
    `<h1>${escaped(title)}</h1>`,
    `<p>${escaped(summaryOf(report))}</p>`,
    ...notes(report).map((note) => `<p class="note">${escaped(note)}.</p>`),
    ...unreadSection(report),
    ...answers(report).map((text) => `<p class="answer">${escaped(text)}</p>`),
    candidateTable(report),
    `<h2>Over time</h2>`,
    figure((width) => timelinePlot("Units admitted and refused over time", timelines, width)),
    ...clientSection(report),
    ...comparisonSection(report),
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
  return table([
    ["candidate", "refused", "%", "clients hit", "longest lock-out"],
    ...candidates.map(({ name, denied, clientsHit, longestLockOut }) => [
      name,
      count(denied),
      percent(denied, requests),
      `${count(clientsHit)} of ${count(clients)}`,
      longestLockOut === undefined ? "none" : durationText(longestLockOut.milliseconds),
    ]),
  ]);
}

function unreadSection(report: ReplayReport): readonly string[] {
  const [first, ...lines] = unreadLines(report);
  if (first === undefined) return [];
  const items = lines.map((line) => `<li>${escaped(line)}</li>`).join("");
  return [`<div class="note"><p>${escaped(first)}</p><ul>${items}</ul></div>`];
}

/** The clients that were refused most; candidates that refused the same ones are shown together. */
function clientSection({ candidates, start, end }: ReplayReport): readonly string[] {
  const groups = new Map<string, { names: string[]; hit: readonly ClientReport[] }>();
  for (const { name, clients } of candidates) {
    const hit = clients.filter(({ denied }) => denied > 0);
    if (hit.length === 0) continue;
    const same = JSON.stringify(hit);
    const group = groups.get(same) ?? { names: [], hit };
    group.names.push(name);
    groups.set(same, group);
  }
  return [
    "<h2>The clients hit hardest</h2>",
    ...(groups.size === 0 ? ["<p>Nobody would have been refused.</p>"] : []),
    ...[...groups.values()].flatMap(({ names, hit }) => [
      `<h3>${escaped(names.join(", "))}</h3>`,
      figure((width) => stripPlot(`Clients under ${names[0]}`, hit, start, end, width)),
    ]),
  ];
}

function comparisonSection({ comparison, candidates }: ReplayReport): readonly string[] {
  if (comparison === undefined) return [];
  return [
    "<h2>What the two would have done differently</h2>",
    ...comparedRequests(comparison, candidates).map((text) => `<p>${escaped(text)}</p>`),
    ...(comparison.clients.length === 0 ? [] : [table(comparisonRows(comparison))]),
  ];
}

function sweepSection(sweeps: readonly SweepReport[]): readonly string[] {
  if (sweeps.length === 0) return [];
  return [
    "<h2>How low may the limit be?</h2>",
    figure((width) => sweepPlot("Requests refused against the limit", sweeps, width)),
    "<p>The smallest limit that hits at most so many:</p>",
    table(sweepRows(sweeps)),
  ];
}

/** A table of rows, the first of which is its head. */
function table(rows: readonly (readonly string[])[]): string {
  const html = rows.map((row, place) => {
    const tag = place === 0 ? "th" : "td";
    return `<tr>${row.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  });
  return `<div class="wide"><table>${html.join("")}</table></div>`;
}

/** A plot in two widths: text that shrinks with its picture cannot be read on a telephone. */
function figure(plot: (width: number) => string): string {
  return `<figure class="desk">${plot(760)}</figure><figure class="hand">${plot(350)}</figure>`;
}

const PAGE_STYLE = `
:root{color-scheme:light dark}
body{margin:0;font:16px/1.5 system-ui,sans-serif;color:#1f2328;background:#fff}
main{max-width:800px;margin:0 auto;padding:24px 20px 64px}
h1{font-size:1.6rem;margin:0 0 .3em}h2{font-size:1.2rem;margin:2em 0 .5em}
h3{font-size:1rem;margin:1.4em 0 .2em}
figure{margin:0}.plot{width:100%;height:auto;display:block}.hand{display:none}
h1,h3,td:first-child,li{overflow-wrap:anywhere}.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:4px 10px;text-align:right;border-bottom:1px solid #d8dee4;white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
th{font-weight:600}.note{color:#59636e;font-size:.9rem}
.answer{font-size:1.05rem;margin:.6em 0}
@media (max-width:640px){main{padding:16px 14px 48px}.desk{display:none}.hand{display:block}
table{font-size:.8rem}th,td{padding:4px 5px;white-space:normal}}
@media (prefers-color-scheme:dark){
body{color:#e6edf3;background:#0d1117}th,td{border-color:#30363d}.note{color:#9aa4af}}
`;
