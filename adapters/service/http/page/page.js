// The page of the service: it asks for the figures every two seconds while it is seen, and shows them.

import {
  callsOf,
  chartIn,
  decisionPlot,
  latencyPlot,
  smallPlot,
  sumOf,
  verdictsOf,
} from "./charts.js";
import { fillForm, followForm, showDomains } from "./try_form.js";
import {
  byId,
  bytesText,
  element,
  latencyText,
  numberText,
  periodText,
  setText,
  showRows,
  spanText,
  timeText,
  visible,
} from "./elements.js";

/**
 * @typedef {import("../../metrics/live_document.ts").LiveDocument} Live
 * @typedef {import("../../metrics/live_document.ts").LiveRule} LiveRule
 * @typedef {NonNullable<Live["keys"]>[number]} LiveKey
 */

const EVERY = 2_000;
/** The rate is that of as many looks. */
const LOOKS = 6;
/** The most keys that are shown in one order. */
const MAX_KEYS = 20;
/** Longer keys are cut off by the service. */
const LONGEST_KEY = 256;

const token = byId("token", HTMLInputElement);
const search = byId("search", HTMLInputElement);
const showDecisions = chartIn(byId("decisions", HTMLElement), "No decisions in the last hour");
const showLatency = chartIn(byId("latency", HTMLElement), "No calls in the last hour");
/** @type {{ at: number, decisions: number }[]} */
let looks = [];
/** @type {Live | undefined} */
let live;
let asked = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

token.value = sessionStorage.getItem("token") ?? "";
token.addEventListener("change", () => {
  sessionStorage.setItem("token", token.value);
  void look();
});
byId("find", HTMLFormElement).addEventListener("submit", (event) => event.preventDefault());
followForm(withToken, () => void look());
search.addEventListener("input", () => wait(150));
for (const order of document.querySelectorAll("[name=order]")) {
  order.addEventListener("change", () => live && showKeys(live));
}
document.addEventListener("visibilitychange", () => void look());
void look();

/** @param {number} milliseconds */
function wait(milliseconds) {
  clearTimeout(timer);
  timer = setTimeout(look, milliseconds);
}

/** Asks and shows; an answer that comes after a later question is left out. */
async function look() {
  if (document.hidden) return;
  const number = ++asked;
  wait(EVERY);
  const status = byId("status", HTMLElement);
  try {
    const path = `v1/live?search=${encodeURIComponent(search.value)}`;
    const response = await fetch(path, { headers: withToken() });
    if (!response.ok) throw new Error(`status ${response.status}`);
    /** @type {Live} */
    const answer = await response.json();
    if (number !== asked) return;
    live = answer;
    showAll(answer);
    const threads = live.threads === 1 ? "1 thread" : `${live.threads} threads`;
    setText(status, live.outage === null ? "Live" : "The store does not answer");
    show("threads", `${threads}, up ${spanText(live.now - live.startedAt)}`);
    status.classList.toggle("bad", live.outage !== null);
  } catch (error) {
    if (number !== asked) return;
    setText(status, `No answer: ${error instanceof Error ? error.message : error}`);
    status.classList.add("bad");
  }
}

/** @param {Live} live */
function showAll(live) {
  byId("token-label", HTMLElement).hidden = !live.needsToken;
  showTiles(live);
  showStore(live);
  showLoaded(live.loaded);
  showOutage(live.outage);
  showDecisions(decisionPlot(live.history));
  showLatency(latencyPlot(live.history));
  showRules(live);
  showKeys(live);
  showDomains(live.domains);
}

/** @param {Live} live */
function showTiles({ now, decisions, history }) {
  const look = { at: now, decisions: callsOf(decisions) };
  const [first = look] = looks;
  // Another process counts from 0.
  looks = look.decisions < first.decisions ? [look] : [...looks.slice(-LOOKS), look];
  const seconds = Math.max(1, (now - first.at) / 1_000);
  show("rate", numberText(Math.max(0, look.decisions - first.decisions) / seconds));
  const hour = verdictsOf(history);
  const { refused, shadowRefused } = hour;
  const calls = callsOf(hour);
  show("rate-hour", `${numberText(calls)} in the last hour`);
  show("refused", numberText(refused));
  show("refused-part", calls === 0 ? "" : `${(refused / calls * 100).toFixed(1)} %`);
  show(
    "refused-shadow",
    shadowRefused === 0 ? "" : `${numberText(shadowRefused)} more by shadow rules`,
  );
  show("p99", latencyText(history.hour.p99));
  show("p50", `${latencyText(history.hour.p50)} p50`);
}

/** @param {Live} live */
function showStore({ storeKind, store, history, outage }) {
  show("store-title", `Store (${storeKind})`);
  const { keys, capacity, maxKeys = capacity, bytes, maxBytes, nodes, maxNodes } = store;
  const bounds = [
    { name: "keys", held: keys, most: maxKeys },
    { name: "bytes", held: bytes, most: maxBytes },
    { name: "nodes", held: nodes, most: maxNodes },
  ].filter(({ most }) => most !== undefined);
  showRows(byId("fill", HTMLElement), bounds, ({ name }) => name, fillRow);
  const evicted = sumOf(history.evictions);
  const evictions = byId("evictions", HTMLElement);
  evictions.classList.toggle("bad", evicted > 0);
  const answers = outage === null ? "answers" : "does not answer";
  const kept = store["evictions"] === undefined ? answers : "none evicted in the last hour";
  setText(evictions, evicted === 0 ? kept : `${numberText(evicted)} evicted in the last hour`);
  const entries = Object.entries(store);
  showRows(byId("store", HTMLElement), entries, ([name]) => name, ([name]) => {
    const [row, value] = [element("div"), element("dd")];
    row.append(element("dt", "", name), value);
    return { row, show: ([, number]) => setText(value, number.toLocaleString("en")) };
  });
}

/** How full a part of the store is. */
function fillRow() {
  const row = element("span", "fill");
  const [text, meter] = [element("span"), element("meter")];
  meter.high = 0.9;
  meter.optimum = 0;
  row.append(text, meter);
  return {
    row,
    /** @param {{ name: string, held?: number | undefined, most?: number | undefined }} part */
    show({ name, held = 0, most = 1 }) {
      meter.value = held / most;
      meter.setAttribute("aria-label", `${name} held`);
      setText(
        text,
        name === "bytes"
          ? `${bytesText(held)} of ${bytesText(most)}`
          : `${numberText(held)} of ${numberText(most)} ${name}`,
      );
    },
  };
}

/** @param {Live["loaded"]} loaded */
function showLoaded({ at, version, rules, failedAt, source, reason }) {
  show("loaded", numberText(rules));
  show("loaded-at", `loaded at ${timeText(at)}`);
  show("version", `version ${version}`);
  show("source", visible(source ?? ""));
  const failed = byId("failed", HTMLElement);
  failed.hidden = failedAt === null;
  if (failedAt === null) return;
  const why = reason === undefined ? "" : `: ${visible(reason)}`;
  const held = `The rules of ${timeText(at)} hold.`;
  setText(failed, `Rules could not be loaded at ${timeText(failedAt)}${why}. ${held}`);
}

/** How calls are decided while the store does not answer. */
const OUTAGES = {
  allow: "Calls are admitted without a limit.",
  deny: "Calls are refused.",
  throw: "Calls fail with status 503.",
};

/** @param {Live["outage"]} outage */
function showOutage(outage) {
  const banner = byId("outage", HTMLElement);
  banner.hidden = outage === null;
  if (outage === null) return;
  const calls = outage.policy === undefined ? "" : ` ${OUTAGES[outage.policy]}`;
  setText(banner, `The store has not answered since ${timeText(outage.since)}.${calls}`);
}

/** @param {Live} live */
function showRules({ rules, rulesFound, domains }) {
  const few = rules.length < rulesFound;
  show("rules-note", few ? `${rules.length} busiest of ${numberText(rulesFound)}` : "");
  const body = byId("rules", HTMLElement);
  showRows(body, rules, nameOf, (rule) => ruleRow(rule, domains.length > 1));
  const none = byId("no-rules", HTMLElement);
  none.hidden = rules.length > 0;
  setText(none, search.value === "" ? "There are no rules." : "No rule contains this text.");
}

/** @param {LiveRule} rule */
function nameOf({ domain, rule, label, kind, shadow, limits, ownLimits }) {
  return JSON.stringify([domain, rule, label, kind, shadow, limits, ownLimits]);
}

/** @param {LiveRule} rule @param {boolean} withDomain */
function ruleRow(rule, withDomain) {
  const head = element("th");
  head.scope = "row";
  head.append(fillButton(rule.rule, rule.domain, templateOf(rule.label)));
  if (rule.shadow) head.append(element("span", "tag", "shadow"));
  const domain = withDomain ? `${visible(rule.domain)} · ` : "";
  head.append(element("small", "", `${domain}${limitsText(rule)}`));
  const plot = smallPlot();
  const plotCell = element("td", "plot");
  plotCell.append(plot.svg);
  const [admitted, refused] = [numberCell(), numberCell()];
  const row = element("tr");
  row.append(head, plotCell, admitted.cell, refused.cell);
  return {
    row,
    /** @param {LiveRule} shown */
    show({ history }) {
      plot.show(history);
      const hour = verdictsOf(history);
      admitted.show(hour.admitted);
      if (rule.shadow) refused.show(hour.shadowRefused, "shadow", "would be");
      else refused.show(hour.refused, "refused");
    },
  };
}

/** @param {LiveRule} rule */
function limitsText({ kind, limits, ownLimits, label }) {
  if (kind === "blocked") return "refuses every call";
  if (kind === "unlimited") return "no limit";
  if (limits.length === 0) return label === "override" ? "limits that calls bring" : "";
  const texts = limits.map(({ algorithm, limit, period, burst }) => {
    const more = burst === limit ? "" : `, burst ${numberText(burst)}`;
    return `${algorithm} ${limit.toLocaleString("en")} ${periodText(period)}${more}`;
  });
  return `${texts.join(" + ")}${ownLimits ? ", or a key's own limits" : ""}`;
}

/** The beginning of a descriptor that the rule holds for. @param {string} label */
function templateOf(label) {
  return /(^|,)[^=,]+$/.test(label) ? `${label}=` : label;
}

/** @param {Live} live */
function showKeys({ keys, keysSince, needsToken }) {
  const order = document.querySelector("[name=order]:checked");
  const figure = order instanceof HTMLInputElement && order.value === "used" ? "used" : "refused";
  const sorted = (keys ?? []).filter((key) => key[figure] > 0)
    .sort((one, other) => other[figure] - one[figure])
    .slice(0, MAX_KEYS);
  show("keys-note", keys === undefined ? "" : `since ${timeText(keysSince)}`);
  const name = (/** @type {LiveKey} */ { domain, rule, key }) =>
    JSON.stringify([domain, rule, key]);
  showRows(byId("keys", HTMLElement), sorted, name, keyRow);
  const none = byId("no-keys", HTMLElement);
  none.hidden = sorted.length > 0;
  setText(none, keys === undefined ? hiddenKeys(needsToken) : `No key was ${figure}.`);
}

/** @param {boolean} needsToken */
function hiddenKeys(needsToken) {
  return needsToken
    ? "Keys are shown to those who bring the token."
    : "Keys are shown at localhost, or at an address.";
}

/** @param {LiveKey} key */
function keyRow({ domain, rule, key, shadow }) {
  const head = element("th");
  head.scope = "row";
  // A key that was cut off cannot be asked for.
  if (key.length > LONGEST_KEY) head.append(element("bdi", "cut", visible(key)));
  else head.append(fillButton(key, domain, key));
  if (shadow) head.append(element("span", "tag", "shadow"));
  if (rule !== key) head.append(element("small", "", visible(rule)));
  const [used, refused] = [numberCell(), numberCell()];
  const row = element("tr");
  row.append(head, used.cell, refused.cell);
  return {
    row,
    /** @param {LiveKey} shown */
    show(shown) {
      used.show(shown.used);
      if (shadow) refused.show(shown.refused, "shadow", "would be");
      else refused.show(shown.refused, "refused");
    },
  };
}

/** A name that fills the form. @param {string} text @param {string} domain @param {string} entries */
function fillButton(text, domain, entries) {
  const button = element("button", "name");
  button.type = "button";
  button.title = "Fill the form";
  button.append(element("bdi", "", visible(text)));
  button.addEventListener("click", () => fillForm(domain, entries));
  return button;
}

/** A cell with a number, that says in words what its colour says. */
function numberCell() {
  const cell = element("td", "number");
  const [word, number] = [element("small"), element("span")];
  cell.append(number, word);
  return {
    cell,
    /** @param {number} value @param {string} [kind] @param {string} [words] */
    show(value, kind = "", words = "") {
      setText(number, numberText(value));
      setText(word, value === 0 ? "" : words);
      cell.className = `number ${value === 0 ? "none" : kind}`.trim();
    },
  };
}

/** @returns {Record<string, string>} */
function withToken() {
  return token.value === "" ? {} : { "x-tidegate-token": token.value };
}

/** @param {string} id @param {string} text */
function show(id, text) {
  setText(byId(id, HTMLElement), text);
}
