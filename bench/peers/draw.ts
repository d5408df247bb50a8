/*
 * Writes the tables and plots of README.md and docs/internals/peers.md from bench/peers/results/*.json:
 * `npm run bench -- peers --draw --on=node`.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { dotPlot } from "./dot_plot.ts";
import { readResults, type Results, type Row, RUNTIMES, type Section } from "./results.ts";

const root = new URL("../../", import.meta.url);

interface Column {
  /** The figure's name in the results. */
  readonly figure: string;
  readonly title: string;
  /** Whether a larger figure is the better one. */
  readonly isRate: boolean;
}

/**
 * The parts of a section that are shown: the figures, and the row that others are compared with.
 */
interface Chapter {
  readonly section: Section;
  readonly title: string;
  readonly unit: string;
  readonly columns: readonly Column[];
  /** The row of tidegate that a row is compared with. */
  readonly own: (name: string) => string;
}

const CHAPTERS: readonly Chapter[] = [
  {
    section: "memory",
    title: "A decision in memory, 10,000 keys",
    unit: "nanoseconds a decision, admitted; logarithmic; less is better",
    columns: [
      { figure: "admitted", title: "ns, admitted", isRate: false },
      { figure: "refused", title: "ns, refused", isRate: false },
    ],
    own: () => "tidegate, gcra",
  },
  {
    section: "shared",
    title: "Decisions of two threads on 10,000 common keys",
    unit: "millions a second; more is better",
    columns: [
      { figure: "one key, 2 threads", title: "one key, millions a second", isRate: true },
      { figure: "10,000 keys, 2 threads", title: "10,000 keys, millions a second", isRate: true },
    ],
    own: () => "tidegate, sharedStore",
  },
  {
    section: "redis",
    title: "Decisions on Redis, 64 callers, 10,000 keys",
    unit: "decisions a second; more is better",
    columns: [
      { figure: "10,000 keys", title: "10,000 keys, a second", isRate: true },
      { figure: "one key", title: "one key, a second", isRate: true },
      { figure: "10,000 keys, µs of Redis", title: "µs of Redis", isRate: false },
    ],
    own: () => 'tidegate, commit: "script"',
  },
  {
    section: "http",
    title: "A request, with and without a limit",
    unit: "microseconds of processor time a request; less is better",
    columns: [{ figure: "µs a request", title: "µs a request", isRate: false }],
    own: (name) => `${name.split(":")[0]}: tidegate`,
  },
];

/** The rows for README, and their labels there. */
const HEADLINES:
  readonly (readonly [section: Section, column: number, row: string, label: string])[] = [
    ["memory", 0, "rate-limiter-flexible, RateLimiterMemory", "in memory: rate-limiter-flexible"],
    ["redis", 0, "rate-limiter-flexible", "Redis, 10,000 keys: rate-limiter-flexible"],
    ["http", 0, "express: express-rate-limit", "Express: express-rate-limit"],
  ];

/** Writes all plots, from the results that exist. */
export function drawPeers(): void {
  const all = RUNTIMES.map(readResults).filter((results) => results !== undefined);
  for (const chapter of CHAPTERS) {
    replace("docs/internals/peers.md", chapter.section, tableOf(chapter, all).join("\n"));
    const plot = dotPlot(
      chapter.title,
      all.map(({ runtime }) => runtime),
      namesOf(chapter, all).map((name) => ({
        name,
        isOwn: name.includes("tidegate"),
        values: all.map((results) => figureOf(results, chapter, chapter.columns[0]!, name)),
      })),
      { unit: chapter.unit, isLogarithmic: chapter.section === "memory" },
    );
    writeFileSync(new URL(`docs/plots/peers_${chapter.section}.svg`, root), `${plot}\n`);
  }
  replace("docs/internals/peers.md", "machine", circumstances(all).join("\n"));
  replace("README.md", "figures", [...headlines(all), ...reservation(all)].join("\n"));
  const pages = ["README.md", "docs/internals/peers.md"];
  spawnSync("node", [".ci/format.mjs", ...pages], { cwd: fileURLToPath(root) });
}

function namesOf({ section }: Chapter, all: readonly Results[]): readonly string[] {
  const names = all.flatMap(({ sections }) =>
    sections[section]?.rows.map(({ name }) => name) ?? []
  );
  return [...new Set(names)];
}

function rowOf({ sections }: Results, { section }: Chapter, name: string): Row | undefined {
  return sections[section]?.rows.find((row) => row.name === name);
}

function figureOf(results: Results, chapter: Chapter, { figure }: Column, name: string) {
  return rowOf(results, chapter, name)?.values[figure] ?? undefined;
}

/** How many times as fast tidegate is. */
function ratioOf(results: Results, chapter: Chapter, column: Column, name: string) {
  const theirs = figureOf(results, chapter, column, name);
  const own = figureOf(results, chapter, column, chapter.own(name));
  if (theirs === undefined || own === undefined) return undefined;
  return column.isRate ? own / theirs : theirs / own;
}

function tableOf(chapter: Chapter, all: readonly Results[]): readonly string[] {
  const { columns } = chapter;
  const cell = (results: Results, name: string) => {
    const figures = columns.map((column) => written(figureOf(results, chapter, column, name)));
    const ratio = ratioOf(results, chapter, columns[0]!, name);
    return `${figures.join(" / ")}${ratio === undefined ? "" : ` (${ratio.toFixed(2)})`}`;
  };
  const title = columns.map(({ title }) => title).join(" / ");
  return [
    `| ${title} | ${
      all.map(({ runtime }) => runtime).join(" | ")
    } | what it does, and leaves out |`,
    `| --- |${" --- |".repeat(all.length + 1)}`,
    ...namesOf(chapter, all).map((name) => {
      const row = all.map((results) => rowOf(results, chapter, name)).find((row) => row)!;
      const label = row.version === null ? name : `${name} ${row.version}`;
      return `| ${label} | ${
        all.map((results) => cell(results, name)).join(" | ")
      } | ${row.note} |`;
    }),
  ];
}

function headlines(all: readonly Results[]): readonly string[] {
  return [
    `| how many times as fast as | ${all.map(({ runtime }) => runtime).join(" | ")} |`,
    `| --- |${" --- |".repeat(all.length)}`,
    ...HEADLINES.map(([section, index, name, label]) => {
      const chapter = CHAPTERS.find((chapter) => chapter.section === section)!;
      const cells = all.map((results) => {
        const ratio = ratioOf(results, chapter, chapter.columns[index]!, name);
        return ratio === undefined ? "" : ratio.toFixed(2);
      });
      return `| ${label} | ${cells.join(" | ")} |`;
    }),
  ];
}

/** Says so where the figures are worth little. */
function reservation(all: readonly Results[]): readonly string[] {
  const wasBusy = all.some(({ cores, sections }) =>
    Object.values(sections).some(({ load, isShort }) => isShort || load > cores / 4)
  );
  const note = "**Taken on a machine that was busy, some by short runs: expect others.**";
  return wasBusy ? ["", note] : [];
}

function circumstances(all: readonly Results[]): readonly string[] {
  return all.map(({ runtime, processor, cores, sections }) => {
    const parts = Object.entries(sections).map(([name, { date, load, isShort }]) =>
      `${name} ${date}, ${load} cores busy before${isShort ? ", a short run" : ""}`
    );
    return `- ${runtime}, ${cores} cores of ${processor}: ${parts.join("; ")}`;
  });
}

function written(figure: number | undefined): string {
  if (figure === undefined) return "-";
  return Number(figure.toPrecision(figure < 1_000 ? 3 : 4)).toLocaleString("en");
}

/** Puts a text between a page's marks. */
function replace(page: string, mark: string, text: string): void {
  const file = new URL(page, root);
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- end of ${mark} -->`];
  const whole = readFileSync(file, "utf8");
  const [from, to] = [whole.indexOf(begin), whole.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`Cannot write ${page} as it has no mark ${begin}`);
  writeFileSync(file, `${whole.slice(0, from + begin.length)}\n\n${text}\n\n${whole.slice(to)}`);
}
