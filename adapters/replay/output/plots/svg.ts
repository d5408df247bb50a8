/*
 * SVG as text. Whatever comes from a log was written by a stranger: all text goes through `escaped`.
 */

/** An attribute's value; `undefined` leaves it out. */
type Value = string | number | undefined;

/** Text that means itself in HTML and SVG. */
export function escaped(text: string): string {
  return text
    // Control characters have no place in XML at all.
    // deno-lint-ignore no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** An element; its children are SVG already. */
export function element(
  name: string,
  attributes: Readonly<Record<string, Value>>,
  ...children: readonly string[]
): string {
  const text = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([attribute, value]) =>
      ` ${attribute}="${typeof value === "number" ? rounded(value) : escaped(value!)}"`
    )
    .join("");
  return children.length === 0
    ? `<${name}${text}/>`
    : `<${name}${text}>${children.join("")}</${name}>`;
}

/** A piece of text at a place. */
export function label(
  x: number,
  y: number,
  text: string,
  look: { readonly class?: string; readonly anchor?: "start" | "middle" | "end" } = {},
): string {
  return element("text", { x, y, class: look.class, "text-anchor": look.anchor }, escaped(text));
}

/** A straight line. */
export function line(x1: number, y1: number, x2: number, y2: number, look: string): string {
  return element("line", { x1, y1, x2, y2, class: look });
}

/** A rectangle as a piece of a path: many of them make one element. */
export function box(left: number, top: number, right: number, bottom: number): string {
  return `M${rounded(left)} ${rounded(top)}H${rounded(right)}V${rounded(bottom)}H${rounded(left)}Z`;
}

/** A picture of its own, with the colours that it needs. */
export function picture(
  width: number,
  height: number,
  title: string,
  children: readonly string[],
): string {
  return element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${rounded(width)} ${rounded(height)}`,
      role: "img",
      "aria-label": title,
      class: "plot",
    },
    element("title", {}, escaped(title)),
    `<style>${PLOT_STYLE}</style>`,
    ...children,
  );
}

/** One decimal is finer than a screen. */
export function rounded(number: number): string {
  return String(Math.round(number * 10) / 10);
}

/** How plots look, in light and in dark. */
const PLOT_STYLE = `
.plot{font:12px system-ui,sans-serif;--ink:#1f2328;--soft:#59636e;--rule:#d8dee4;--calm:#5b8fc7;
--alarm:#c8321f;--paper:#fff;background:var(--paper)}
@media (prefers-color-scheme:dark){.plot{--ink:#e6edf3;--soft:#9aa4af;--rule:#30363d;--calm:#4f86bd;
--alarm:#ff7b6b;--paper:#0d1117}}
.plot text{fill:var(--ink)}.plot .soft{fill:var(--soft)}.plot .rule{stroke:var(--rule);fill:none}
.plot .calm{fill:var(--calm)}.plot .alarm,.plot text.alarm{fill:var(--alarm)}
`.replaceAll("\n", "");
