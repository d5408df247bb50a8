// Elements of the page, and numbers and times as its texts.

/**
 * The element with this id.
 *
 * @template {Element} Type
 * @param {string} id @param {new () => Type} type @returns {Type}
 */
export function byId(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`there is no ${type.name} ${id}`);
  return found;
}

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name @param {string} [className] @param {string} [text]
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, className = "", text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

/** Changes a text only if it differs, so that a selection in it stays. */
/** @param {Element} node @param {string} text */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** @typedef {{ readonly row: HTMLElement, show(item: any): void }} Row */

/** The rows of each table by the names of what they show. @type {WeakMap<Element, Map<string, Row>>} */
const shown = new WeakMap();

/**
 * Shows items as rows. A row of an item that was there stays, with focus and selection.
 *
 * @template Item
 * @param {HTMLElement} body @param {readonly Item[]} items
 * @param {(item: Item) => string} nameOf
 * @param {(item: Item) => Row} makeRow
 */
export function showRows(body, items, nameOf, makeRow) {
  const focused = document.activeElement;
  const before = shown.get(body) ?? new Map();
  /** @type {Map<string, Row>} */
  const rows = new Map();
  items.forEach((item, index) => {
    const name = nameOf(item);
    const made = before.get(name) ?? makeRow(item);
    rows.set(name, made);
    made.show(item);
    const there = body.children[index] ?? null;
    if (there !== made.row) body.insertBefore(made.row, there);
  });
  while (body.children.length > rows.size) body.lastElementChild?.remove();
  shown.set(body, rows);
  if (focused instanceof HTMLElement && focused.isConnected) focused.focus({ preventScroll: true });
}

/** A key or a name as it came from anywhere: what cannot be seen, or turns text around, is named. */
/** @param {string} text */
export function visible(text) {
  return text.replaceAll(
    // deno-lint-ignore no-control-regex
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** @param {number} number */
export function numberText(number) {
  return number < 100_000
    ? number.toLocaleString("en", { maximumFractionDigits: number < 100 ? 1 : 0 })
    : number.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
}

const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB"];

/** @param {number} bytes */
export function bytesText(bytes) {
  const index = BYTE_UNITS.findIndex((_, index) => bytes < 1_000 ** (index + 1));
  const power = index < 0 ? BYTE_UNITS.length - 1 : index;
  const number = (bytes / 1_000 ** power).toLocaleString("en", { maximumSignificantDigits: 3 });
  return `${number} ${BYTE_UNITS[power]}`;
}

/** @param {number | null} milliseconds */
export function latencyText(milliseconds) {
  if (milliseconds === null) return "–";
  return milliseconds < 1
    ? `${Math.round(milliseconds * 1_000)} µs`
    : `${milliseconds.toLocaleString("en", { maximumSignificantDigits: 3 })} ms`;
}

const SECOND = { length: 1_000, unit: "s", name: "second" };
const UNITS = [
  { length: 86_400_000, unit: "d", name: "day" },
  { length: 3_600_000, unit: "h", name: "hour" },
  { length: 60_000, unit: "min", name: "minute" },
  SECOND,
];

/** The text after a number of units: `per minute`, `per 90 s`. @param {number} milliseconds */
export function periodText(milliseconds) {
  const found = UNITS.find(({ length }) => milliseconds % length === 0);
  if (found === undefined) return `per ${milliseconds} ms`;
  if (milliseconds === found.length) return `per ${found.name}`;
  return `per ${milliseconds / found.length} ${found.unit}`;
}

/** About how long: `5 min`. @param {number} milliseconds */
export function spanText(milliseconds) {
  const { length, unit } = UNITS.find(({ length }) => milliseconds >= 2 * length) ?? SECOND;
  return `${(milliseconds / length).toFixed(milliseconds < 10_000 ? 1 : 0)} ${unit}`;
}

/** A time of the day, with the date if it is of another one. @param {number} instant */
export function timeText(instant) {
  const date = new Date(instant);
  const time = date.toLocaleTimeString("en", {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return date.toDateString() === new Date().toDateString()
    ? time
    : `${date.toLocaleDateString("en", { dateStyle: "medium" })}, ${time}`;
}
