// The page of the service: it asks for the figures once a second while it is seen, and shows them.

/**
 * @typedef {{ domain: string, rule: string, admitted: number, refused: number,
 *   shadowRefused: number }} RuleFigures
 * @typedef {{ domains: string[], rules: RuleFigures[], threads: number,
 *   keys?: { domain: string, rule: string, key: string, refused: number, shadow: boolean }[] }} Live
 * @typedef {{ admitted: number, refused: number, shadow: number }} Second
 */

const SECONDS = 60;
const SVG = "http://www.w3.org/2000/svg";

/** The figures of the time before, by domain and rule. @type {Map<string, RuleFigures>} */
const before = new Map();
/** The last minute, second by second, the newest last. @type {Map<string, Second[]>} */
const histories = new Map();
/** When the figures before came, in milliseconds; 0 if never. */
let toldAt = 0;

const token = /** @type {HTMLInputElement} */ (byId("token"));
token.value = sessionStorage.getItem("token") ?? "";
token.addEventListener("change", () => sessionStorage.setItem("token", token.value));
byId("try").addEventListener("submit", (event) => void ask(/** @type {SubmitEvent} */ (event)));
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) void look();
});
setInterval(() => {
  if (!document.hidden) void look();
}, 1_000);
void look();

async function look() {
  const status = byId("status");
  try {
    const response = await fetch("v1/live", { headers: withToken() });
    if (!response.ok) throw new Error(`status ${response.status}`);
    /** @type {Live} */
    const live = await response.json();
    const now = performance.now();
    const seconds = toldAt === 0 ? Infinity : (now - toldAt) / 1_000;
    toldAt = now;
    showRules(live.rules, seconds);
    showKeys(live.keys);
    showDomains(live.domains);
    const threads = live.threads === 1 ? "1 thread" : `${live.threads} threads`;
    status.textContent = `Live, ${live.domains.join(", ")}, ${threads}`;
    status.classList.remove("bad");
  } catch (error) {
    status.textContent = `No answer: ${error instanceof Error ? error.message : error}`;
    status.classList.add("bad");
  }
}

/** @param {RuleFigures[]} rules @param {number} seconds since the figures before */
function showRules(rules, seconds) {
  const sorted = rules.toSorted((one, other) =>
    one.domain.localeCompare(other.domain) || one.rule.localeCompare(other.rule)
  );
  byId("rules").replaceChildren(...sorted.map((figures) => {
    const name = JSON.stringify([figures.domain, figures.rule]);
    const last = before.get(name) ?? figures;
    /** @type {Second} */
    const second = {
      admitted: Math.max(0, figures.admitted - last.admitted) / seconds,
      refused: Math.max(0, figures.refused - last.refused) / seconds,
      shadow: Math.max(0, figures.shadowRefused - last.shadowRefused) / seconds,
    };
    before.set(name, figures);
    const history = histories.get(name) ?? [];
    histories.set(name, history);
    history.push(second);
    if (history.length > SECONDS) history.shift();
    return ruleRow(figures, second, history);
  }));
  byId("no-rules").hidden = rules.length > 0;
}

/** @param {RuleFigures} figures @param {Second} second @param {Second[]} history */
function ruleRow({ domain, rule, admitted, refused, shadowRefused }, second, history) {
  const head = element("th", rule);
  head.scope = "row";
  if (shadowRefused > 0) head.append(tagOf(`${shadowRefused.toLocaleString()} in the shadow`));
  const plot = element("td", "");
  plot.append(plotOf(history, rule));
  const row = element("tr", "");
  row.append(
    head,
    element("td", domain),
    plot,
    number(admitted),
    number(second.admitted, 1),
    number(refused, 0, "refused"),
    number(second.refused, 1, "refused"),
  );
  return row;
}

/** @param {string} text */
function tagOf(text) {
  const tag = element("span", text);
  tag.className = "tag";
  return tag;
}

/** Bars, a second each: what was admitted, and on top of it what was refused. */
/** @param {Second[]} history @param {string} rule */
function plotOf(history, rule) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${SECONDS} 16`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `calls of ${rule} over the last minute`);
  svg.classList.add("plot");
  const most = Math.max(1, ...history.map((each) => each.admitted + each.refused + each.shadow));
  history.forEach((second, place) => {
    let top = 16;
    for (const kind of /** @type {const} */ (["admitted", "refused", "shadow"])) {
      const height = second[kind] / most * 16;
      if (height === 0) continue;
      top -= height;
      const bar = document.createElementNS(SVG, "rect");
      bar.setAttribute("x", String(SECONDS - history.length + place));
      bar.setAttribute("y", String(top));
      bar.setAttribute("width", "0.85");
      bar.setAttribute("height", String(height));
      bar.classList.add(kind);
      svg.append(bar);
    }
  });
  return svg;
}

/** @param {Live["keys"]} keys */
function showKeys(keys) {
  const sorted = (keys ?? []).filter(({ refused }) => refused > 0).toSorted((one, other) =>
    other.refused - one.refused
  ).slice(0, 20);
  byId("keys").replaceChildren(...sorted.map(({ key, rule, refused, shadow }) => {
    const head = element("th", key);
    head.scope = "row";
    if (shadow) head.append(tagOf("in the shadow"));
    const row = element("tr", "");
    row.append(head, element("td", rule), number(refused, 0, shadow ? "shadow" : "refused"));
    return row;
  }));
  const empty = byId("no-keys");
  empty.hidden = sorted.length > 0;
  empty.textContent = keys === undefined
    ? "Shown only with the token, or at localhost."
    : "No key was refused.";
}

/** @param {string[]} domains */
function showDomains(domains) {
  const select = /** @type {HTMLSelectElement} */ (byId("domain"));
  const shown = [...select.options].map(({ value }) => value);
  if (JSON.stringify(shown) === JSON.stringify(domains)) return;
  const chosen = select.value;
  select.replaceChildren(...domains.map((domain) => element("option", domain)));
  if (domains.includes(chosen)) select.value = chosen;
}

/** @param {SubmitEvent} event */
async function ask(event) {
  event.preventDefault();
  const button = /** @type {HTMLButtonElement | null} */ (event.submitter);
  const way = button?.value === "consume" ? "consume" : "peek";
  const answer = byId("answer");
  const pairs = /** @type {HTMLInputElement} */ (byId("entries")).value.trim().split(/\s+/);
  const entries = pairs.map((pair) => {
    const equals = pair.indexOf("=");
    return equals === -1 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
  });
  try {
    const response = await fetch(`v1/${way}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...withToken() },
      body: JSON.stringify({
        domain: /** @type {HTMLSelectElement} */ (byId("domain")).value,
        entries,
        cost: /** @type {HTMLInputElement} */ (byId("cost")).valueAsNumber,
      }),
    });
    const body = await response.json();
    if (!response.ok) throw new Error(body.detail ?? `status ${response.status}`);
    answer.replaceChildren(...verdictNodes(body, way));
    void look();
  } catch (error) {
    const text = element("strong", error instanceof Error ? error.message : String(error));
    text.className = "refused";
    answer.replaceChildren(text);
  }
}

/** @param {any} verdict @param {string} way */
function verdictNodes({ allowed, rules }, way) {
  const said = element("strong", allowed ? "admitted" : "refused");
  said.className = said.textContent ?? "";
  const would = element("span", way === "peek" ? "It would be " : "It was ");
  if (rules.length === 0) {
    return [would, said, element("span", ": no rule with limits holds.")];
  }
  const list = element("ul", "");
  for (const rule of rules) list.append(element("li", ruleText(rule)));
  return [would, said, element("span", "."), list];
}

/** @param {any} rule */
function ruleText({ rule, shadow, limit, remaining, allowed, wouldAllow, retryAfter }) {
  const name = shadow ? `${rule}, in the shadow` : rule;
  if (limit === null) return `${name}: unlimited`;
  const fits = shadow ? wouldAllow : allowed;
  const left = `${remaining} left of a limit of ${limit}`;
  if (fits) return `${name}: ${left}`;
  if (retryAfter === null) return `${name}: never admitted at this cost`;
  return `${name}: ${left}; again in ${spanText(retryAfter)}`;
}

/** @param {number} milliseconds */
function spanText(milliseconds) {
  if (milliseconds < 120_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  if (milliseconds < 7_200_000) return `${(milliseconds / 60_000).toFixed(1)} min`;
  return `${(milliseconds / 3_600_000).toFixed(1)} h`;
}

/** @returns {Record<string, string>} */
function withToken() {
  return token.value === "" ? {} : { "x-tidegate-token": token.value };
}

/** @param {number} value @param {number} [digits] @param {string} [kind] */
function number(value, digits = 0, kind = "") {
  const cell = element("td", value.toLocaleString(undefined, { maximumFractionDigits: digits }));
  cell.className = `number ${kind} ${value === 0 ? "none" : ""}`.trim();
  return cell;
}

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name @param {string} text
 * @returns {HTMLElementTagNameMap[Name]}
 */
function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** @param {string} id @returns {HTMLElement} */
function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`there is no element ${id}`);
  return found;
}
