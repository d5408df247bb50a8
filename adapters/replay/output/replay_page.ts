/*
 * A report to share: one HTML file without scripts that can be mailed, attached to a ticket and
 * opened offline.
 */

import { checkOptions } from "../../../core/application_support.ts";
import type { Advice } from "../advise/advice.ts";
import type { ReplayReport } from "../replay_report.ts";
import type { SweepReport } from "../sweep.ts";
import { adviceSections } from "./advice_sections.ts";
import { checkReport } from "./check_report.ts";
import { escaped } from "./plots/svg.ts";
import { reportSections } from "./report_sections.ts";
import type { Section } from "./section.ts";

/** The options of `replayPage`. */
export interface ReplayPageOptions {
  /** The page's title; default `"Replay"`. */
  readonly title?: string | undefined;
  /** Reports of `sweep`, to show them too. */
  readonly sweeps?: readonly SweepReport[] | undefined;
  /** A report of `advise`, to show it on top. */
  readonly advice?: Advice | undefined;
}

/**
 * The report as one HTML page: tables, and plots of the requests that would have been admitted and
 * refused over time, of the clients hit hardest, and of how low the limits may be.
 *
 * It needs no other file, and follows the reader's light or dark theme. Text from the log is
 * escaped.
 *
 * @param report What `replay` returned.
 * @param options As above.
 */
export function replayPage(report: ReplayReport, options: ReplayPageOptions = {}): string {
  checkReport("write a page", report);
  checkOptions<ReplayPageOptions>("write a page", options, {
    title: true,
    sweeps: true,
    advice: true,
  });
  const { title = "Replay", sweeps = [], advice } = options;
  const top = advice === undefined ? [] : adviceSections(advice);
  const body = [...top, ...reportSections(report, sweeps)].map(sectionHtml);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<style>${PAGE_STYLE}</style>
<main>
<h1>${escaped(title)}</h1>
${body.join("\n")}
<p class="note">A log shows what clients did when nothing held them back. It does not show whether
those who are refused come again, and its times are only as exact as they were written.</p>
</main>
</html>
`;
}

function sectionHtml(section: Section): string {
  const { heading, title, kind, lines = [], rows = [], code = [], plot, plotNote } = section;
  const items = lines.map((line) => `<li>${escaped(line)}</li>`);
  return [
    ...(heading === undefined ? [] : [`<h2>${escaped(heading)}</h2>`]),
    ...(title === undefined || title === heading ? [] : [`<h3>${escaped(title)}</h3>`]),
    ...(kind === "list"
      ? [`<ul>${items.join("")}</ul>`]
      : lines.map((line) => `<p class="${kind ?? ""}">${escaped(line)}</p>`)),
    ...(plot === undefined ? [] : [figure(plot)]),
    ...(plotNote === undefined ? [] : [`<p class="note">${escaped(plotNote)}</p>`]),
    ...(rows.length <= 1 ? [] : [table(rows)]),
    ...(code.length === 0 ? [] : [`<pre>${code.map(escaped).join("\n")}</pre>`]),
  ].join("\n");
}

/** A table of rows; the first row is its head. */
function table(rows: readonly (readonly string[])[]): string {
  const html = rows.map((row, index) => {
    const tag = index === 0 ? "th" : "td";
    return `<tr>${row.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  });
  return `<div class="wide"><table>${html.join("")}</table></div>`;
}

/** A plot in two widths: text that shrinks with its picture cannot be read on a phone. */
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
h1,h3,p,td:first-child{overflow-wrap:anywhere}.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:4px 10px;text-align:right;border-bottom:1px solid #d8dee4;white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
pre{overflow-x:auto;padding:10px 12px;border:1px solid #d8dee4;border-radius:6px;font-size:.85rem}
ul{padding-left:1.2em}
th{font-weight:600}.note{color:#59636e;font-size:.9rem}
h1+.note{color:inherit;font-size:1rem}
.answer{font-size:1.05rem;margin:.6em 0}
@media (max-width:640px){main{padding:16px 14px 48px}.desk{display:none}.hand{display:block}
table{font-size:.8rem}th,td{padding:4px 5px;white-space:normal}}
@media (prefers-color-scheme:dark){
body{color:#e6edf3;background:#0d1117}th,td,pre{border-color:#30363d}.note{color:#9aa4af}}
`;
