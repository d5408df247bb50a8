// The form that peeks, consumes and blocks: what it asks, and the answer in words.

import { byId, element, showRows, spanText, visible } from "./elements.js";

/** Puts a descriptor into the form. @param {string} domain @param {string} entries */
export function fillForm(domain, entries) {
  const field = byId("entries", HTMLInputElement);
  byId("domain", HTMLSelectElement).value = domain;
  field.value = entries;
  field.focus();
  field.setSelectionRange(entries.length, entries.length);
}

/** @param {readonly string[]} domains */
export function showDomains(domains) {
  showRows(byId("domain", HTMLSelectElement), domains, String, (domain) => {
    return { row: new Option(visible(domain), domain), show() {} };
  });
}

/** The entries that a text describes: `route=login,address=192.0.2.7`. @param {string} text */
function entriesOf(text) {
  const plain = (/** @type {string} */ part) =>
    part.replaceAll("%2C", ",").replaceAll("%3D", "=").replaceAll("%25", "%");
  return text.split(",").map((pair) => {
    const [key = "", ...value] = pair.split("=");
    return [plain(key), plain(value.join("="))];
  });
}

/**
 * Asks whatever the form says when it is sent.
 *
 * @param {() => Record<string, string>} headers @param {() => void} answered
 */
export function followForm(headers, answered) {
  byId("try", HTMLFormElement).addEventListener("submit", async (event) => {
    event.preventDefault();
    const answer = byId("answer", HTMLElement);
    try {
      answer.replaceChildren(...await ask(event.submitter, headers()));
      answered();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      answer.replaceChildren(element("strong", "refused", text));
    }
  });
}

/** @param {HTMLElement | null} submitter @param {Record<string, string>} headers */
async function ask(submitter, headers) {
  const given = submitter instanceof HTMLButtonElement ? submitter.value : "";
  const way = ["consume", "block", "unblock"].includes(given) ? given : "peek";
  const duration = byId("duration", HTMLInputElement).value;
  const response = await fetch(`v1/${way}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({
      domain: byId("domain", HTMLSelectElement).value,
      entries: entriesOf(byId("entries", HTMLInputElement).value),
      cost: byId("cost", HTMLInputElement).valueAsNumber,
      duration,
    }),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail ?? `status ${response.status}`);
  if (way === "unblock") return [element("strong", "admitted", "No longer blocked.")];
  if (way === "block") return [element("strong", "refused", `Blocked for ${duration}.`)];
  return verdictNodes(body, way);
}

/** @param {any} verdict @param {string} way */
function verdictNodes({ allowed, rules }, way) {
  const said = allowed ? "admitted" : "refused";
  const nodes = [
    element("span", "", way === "peek" ? "It would be " : "It was "),
    element("strong", said, said),
  ];
  if (rules.length === 0) return [...nodes, element("span", "", ": no rule with limits holds.")];
  const list = element("ul");
  for (const rule of rules) list.append(element("li", "", ruleText(rule)));
  return [...nodes, element("span", "", "."), list];
}

/** @param {any} rule */
function ruleText({ rule, shadow, limit, remaining, allowed, wouldAllow, retryAfter }) {
  const name = `${visible(rule)}${shadow ? " (shadow)" : ""}`;
  if (limit === null) return `${name}: unlimited`;
  const left = `${remaining} left of a limit of ${limit}`;
  if (shadow ? wouldAllow : allowed) return `${name}: ${left}`;
  if (retryAfter === null) return `${name}: never admitted at this cost`;
  return `${name}: ${left}; again in ${spanText(retryAfter)}`;
}
