/*
 * A report to share: one HTML file without scripts that can be mailed, attached to a ticket and
 * opened offline.
 */

import { checkOptions } from "../../../core/application_support.ts";
import type { Advice } from "../advise/advice.ts";
import type { ReplayReport } from "../replay_report.ts";
import { adviceSections } from "./advice_sections.ts";
import { escaped } from "./plots/svg.ts";
import { reportSections } from "./report_sections.ts";
import { checkAdvice, checkReport, present, type Section } from "./sections.ts";

/** The options of `replayPage`. */
export interface ReplayPageOptions {
  /** The page's title; default `"Replay"`. */
  readonly title?: string | undefined;
  /** A report of `advise`, to show it on top. */
  readonly advice?: Advice | undefined;
  /** The log in the command of that advice, as in `adviceText`. */
  readonly log?: string | undefined;
}

/**
 * The report as one HTML page: tables, and plots of the requests that would have been admitted and
 * refused over time, and of the clients hit hardest.
 *
 * It needs no other file, and follows the reader's light or dark theme. Text from the log is
 * escaped.
 *
 * @param report The result of `replay`.
 * @param options As above.
 */
export function replayPage(report: ReplayReport, options: ReplayPageOptions = {}): string {
  checkReport("write a page", report);
  checkOptions<ReplayPageOptions>("write a page", options, {
    title: true,
    advice: true,
    log: true,
  });
  const { title = "Replay", advice, log } = options;
  if (advice !== undefined) checkAdvice(advice);
  const top = advice === undefined
    ? []
    : [...adviceSections(advice, log), { heading: "What the limits would have done" }];
  const body = [...top, ...reportSections(report)].map(sectionHtml);
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
  const { heading, title, kind, lines = [], plot, plotNote, rows = [], text, code } = section;
  const tag = kind === "list" ? "li" : "p";
  const html = lines.map((line) =>
    `<${tag}${tag === "p" ? ` class="${kind ?? ""}"` : ""}>${prose(line)}</${tag}>`
  );
  return present(
    heading && `<h2>${escaped(heading)}</h2>`,
    title !== heading && title && `<h3>${escaped(title)}</h3>`,
    ...(kind === "list" ? [`<ul>${html.join("")}</ul>`] : html),
    plot && figure(plot),
    plotNote && `<p class="note">${prose(plotNote)}</p>`,
    rows.length > 1 && table(rows),
    ...[text, code].map((each) => each && `<pre>${each.map(escaped).join("\n")}</pre>`),
  ).join("\n");
}

/** Text in which no option of the command is broken at its hyphens, and no number ends a line before its unit. */
function prose(line: string): string {
  return escaped(line)
    .replace(/(?<![\w-])--[a-z][a-z-]*/g, "<code>$&</code>")
    .replace(/(\d) (?=(?:%|ms|s|min|h|d)(?!\w))/g, "$1&#160;");
}

/** How many figures have no room beside the name of a client on a phone. */
const MANY = 4;

/**
 * A table of rows; the first row is its head. On a phone, the first cell of each row stands over the
 * others where these are many.
 */
function table(rows: readonly (readonly string[])[]): string {
  const html = rows.map((row, index) => {
    const tag = index === 0 ? "th" : "td";
    return `<tr>${row.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  });
  const figures = rows[0]!.length - 1;
  const attributes = figures < MANY ? "" : ` class="many" style="--figures:${figures}"`;
  return `<div class="wide"><table${attributes}>${html.join("")}</table></div>`;
}

/** A plot in two widths: text that shrinks with its picture cannot be read on a phone. */
function figure(plot: (width: number) => string): string {
  return `<figure class="desk">${plot(760)}</figure><figure class="hand">${plot(350)}</figure>`;
}

const PAGE_STYLE = `
:root{color-scheme:light dark;--line:#d8dee4}
body{margin:0;font:16px/1.5 system-ui,sans-serif;color:#1f2328;background:#fff}
main{max-width:800px;margin:0 auto;padding:24px 20px 64px}
h1{font-size:1.6rem;margin:0 0 .3em}h2{font-size:1.2rem;margin:2em 0 .5em}
h3{font-size:1rem;margin:1.4em 0 .2em}
figure{margin:0}.plot{width:100%;height:auto;display:block}.hand{display:none}
h1,h3,p,td:first-child{overflow-wrap:anywhere}.wide{overflow-x:auto}
code{white-space:nowrap;font-size:.95em}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:4px 10px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal}
pre{overflow-x:auto;padding:10px 12px;border:1px solid var(--line);border-radius:6px;font-size:.85rem}
ul{padding-left:1.2em}
th{font-weight:600}.note{color:#59636e;font-size:.9rem}
h1+.note{color:inherit;font-size:1rem}
.answer{font-size:1.05rem;margin:.6em 0}
@media (max-width:640px){main{padding:16px 14px 48px}.desk{display:none}.hand{display:block}
table{font-size:.8rem;table-layout:fixed}th,td{padding:4px 0 4px 5px;white-space:normal}th:first-child{width:46%}
.many,.many tbody{display:block}
.many tr{display:grid;grid-template-columns:repeat(var(--figures),1fr);align-items:end;padding:4px 0;border-bottom:1px solid var(--line)}
.many th,.many td{padding:0 0 0 5px;border:0}.many th:first-child,.many td:first-child{grid-column:1/-1;padding:0;width:auto}}
@media (prefers-color-scheme:dark){
:root{--line:#30363d}body{color:#e6edf3;background:#0d1117}.note{color:#9aa4af}}
`;
