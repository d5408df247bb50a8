// Plots of the last hour: bars of verdicts, lines of latencies, and small bars for a row of a table.

import { element, latencyText, numberText, setText, timeText } from "./elements.js";

/**
 * @typedef {import("../../metrics/history.ts").VerdictHistory} Verdicts
 * @typedef {import("../../metrics/history.ts").HistoryTotals} Totals
 * @typedef {Record<"admitted" | "refused" | "shadowRefused" | "unavailable", number>} Sums
 * @typedef {{ from: number, most: string,
 *   paths: readonly (readonly [className: string, path: string])[],
 *   textOf: (minute: number) => string, summary: string }} Plot
 */

const MINUTES = 60;
const HEIGHT = 100;
const SVG = "http://www.w3.org/2000/svg";

/** The bars of a minute, from below: the class of each, and what it shows. */
const BARS = /** @type {const} */ ([
  ["admitted", "admitted"],
  ["shadow", "shadowRefused"],
  ["refused", "refused"],
  ["away", "unavailable"],
]);

/** Bars that stand on each other, a minute each. @param {Verdicts} verdicts @param {number} most */
function barPaths(verdicts, most) {
  const tops = new Float64Array(MINUTES).fill(HEIGHT);
  return BARS.map(([className, name]) => {
    const bars = verdicts[name].map((value, minute) => {
      if (value === 0) return "";
      const height = Math.max(value / most * HEIGHT, 1);
      const top = (tops[minute] ?? HEIGHT) - height;
      tops[minute] = top;
      return `M${minute + 0.1} ${top.toFixed(2)}h.8v${height.toFixed(2)}h-.8z`;
    });
    return /** @type {const} */ ([className, bars.join("")]);
  });
}

/**
 * The verdicts of a minute, or of the hour; none without a history.
 *
 * @param {Verdicts | undefined} verdicts @param {number} [minute] @returns {Sums}
 */
export function verdictsOf(verdicts, minute) {
  /** @param {keyof Sums} name */
  const sum = (name) =>
    minute === undefined ? sumOf(verdicts?.[name] ?? []) : verdicts?.[name][minute] ?? 0;
  return {
    admitted: sum("admitted"),
    refused: sum("refused"),
    shadowRefused: sum("shadowRefused"),
    unavailable: sum("unavailable"),
  };
}

/** The most calls of a minute. @param {Verdicts} verdicts */
function mostOf(verdicts) {
  return Math.max(...verdicts.admitted.map((_, minute) => callsOf(verdictsOf(verdicts, minute))));
}

/** @param {Sums} sums */
export function callsOf({ admitted, refused, shadowRefused, unavailable }) {
  return admitted + refused + shadowRefused + unavailable;
}

/** @param {readonly number[]} values */
export function sumOf(values) {
  return values.reduce((sum, value) => sum + value, 0);
}

/** @param {Sums} sums */
function verdictText({ admitted, refused, shadowRefused, unavailable }) {
  const would = shadowRefused === 0 ? "" : `, ${numberText(shadowRefused)} would be refused`;
  const away = unavailable === 0 ? "" : `, ${numberText(unavailable)} without the store`;
  return `${numberText(admitted)} admitted, ${numberText(refused)} refused${would}${away}`;
}

/** All decisions. @param {Totals} verdicts @returns {Plot} */
export function decisionPlot(verdicts) {
  const most = mostOf(verdicts);
  return {
    from: verdicts.from,
    most: most === 0 ? "" : numberText(most),
    paths: barPaths(verdicts, most),
    textOf: (minute) => verdictText(verdictsOf(verdicts, minute)),
    summary: `Last hour: ${verdictText(verdictsOf(verdicts))}`,
  };
}

/** @param {Totals} history @returns {Plot} */
export function latencyPlot({ from, p50, p99, hour }) {
  const most = Math.max(0, ...p99.map((value) => value ?? 0));
  /** @param {number | null} half @param {number | null} nearly */
  const text = (half, nearly) => `p50 ${latencyText(half)}, p99 ${latencyText(nearly)}`;
  return {
    from,
    most: most === 0 ? "" : latencyText(most),
    paths: [["p99", linePath(p99, most)], ["p50", linePath(p50, most)]],
    textOf: (minute) => text(p50[minute] ?? null, p99[minute] ?? null),
    summary: `Last hour: ${text(hour.p50, hour.p99)}`,
  };
}

/** A line with gaps where there are no calls. @param {Totals["p50"]} values @param {number} most */
function linePath(values, most) {
  return values.map((value, minute) => {
    if (value === null) return "";
    const place = `${minute + 0.5} ${(HEIGHT - value / most * HEIGHT).toFixed(2)}`;
    return (values[minute - 1] ?? null) === null ? `M${place}h.01` : `L${place}`;
  }).join("");
}

/**
 * A plot with its scale, that says of each minute what was in it, by pointer or by arrow keys.
 *
 * @param {HTMLElement} box @param {string} empty what it says if there is nothing
 */
export function chartIn(box, empty) {
  const svg = plotElement();
  const cursor = document.createElementNS(SVG, "rect");
  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("height", String(HEIGHT));
  cursor.setAttribute("width", "1");
  const [most, note] = [element("span", "most"), element("span", "note", empty)];
  const readout = element("p", "readout");
  const scale = element("p", "scale");
  const [first, middle, last] = [element("span"), element("span"), element("span", "", "now")];
  scale.append(first, middle, last);
  const frame = element("div", "frame");
  frame.append(svg, most, note);
  box.append(readout, frame, scale);
  svg.setAttribute("tabindex", "0");
  /** @type {Plot | undefined} */
  let plot;
  /** The minute that is looked at; none below 0. */
  let chosen = -1;

  function read() {
    if (plot === undefined) return;
    setText(
      readout,
      chosen < 0 ? plot.summary : `${timeText(minuteAt(chosen))}: ${plot.textOf(chosen)}`,
    );
    readout.setAttribute("aria-live", chosen < 0 ? "off" : "polite");
    cursor.setAttribute("x", String(chosen));
    cursor.toggleAttribute("hidden", chosen < 0);
  }
  /** @param {number} minute */
  const minuteAt = (minute) => (plot?.from ?? 0) + minute * 60_000;
  /** @param {number} minute */
  function choose(minute) {
    chosen = Math.min(MINUTES - 1, minute);
    read();
  }
  svg.addEventListener("pointermove", ({ clientX }) => {
    const { left, width } = svg.getBoundingClientRect();
    choose(Math.max(0, Math.floor((clientX - left) / width * MINUTES)));
  });
  svg.addEventListener("pointerleave", () => choose(-1));
  svg.addEventListener("blur", () => choose(-1));
  svg.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") choose(chosen < 0 ? MINUTES - 1 : Math.max(0, chosen - 1));
    else if (event.key === "ArrowRight") choose(chosen + 1);
    else return;
    event.preventDefault();
  });
  return (/** @type {Plot} */ next) => {
    plot = next;
    drawPaths(svg, plot.paths);
    svg.append(cursor);
    svg.setAttribute("aria-label", `${plot.summary}. Arrow keys read it by minutes.`);
    setText(most, plot.most);
    note.hidden = plot.most !== "";
    setText(first, timeText(minuteAt(0)));
    setText(middle, timeText(minuteAt(MINUTES / 2)));
    read();
  };
}

/**
 * The bars of a rule. @returns {{ svg: SVGElement, show: (verdicts: Verdicts | undefined) => void
 * }}
 */
export function smallPlot() {
  const svg = plotElement();
  return {
    svg,
    show(verdicts) {
      if (verdicts !== undefined) drawPaths(svg, barPaths(verdicts, mostOf(verdicts)));
      svg.setAttribute("aria-label", verdictText(verdictsOf(verdicts)));
    },
  };
}

function plotElement() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${MINUTES} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  return svg;
}

/** @param {SVGElement} svg @param {Plot["paths"]} paths */
function drawPaths(svg, paths) {
  paths.forEach(([className, path], index) => {
    let drawn = svg.querySelectorAll("path")[index];
    if (drawn === undefined) {
      drawn = document.createElementNS(SVG, "path");
      drawn.setAttribute("class", className);
      svg.append(drawn);
    }
    if (drawn.getAttribute("d") !== path) drawn.setAttribute("d", path);
  });
}
