import type { Section } from "./section.ts";

/** Sections as plain text, which can be pasted anywhere. */
export function sectionText(sections: readonly Section[]): string {
  return sections
    .map(({ heading, title, kind, lines = [], rows = [], code = [], text = [] }) => {
      const isHeaded = kind === "list" && heading !== undefined;
      return [
        ...(isHeaded ? [heading] : []),
        ...(title === undefined ? [] : [title]),
        ...(kind === "list" ? lines.map((line) => `- ${line}`) : lines),
        ...aligned(rows),
        ...text,
        ...code.map((line) => `  ${line}`.trimEnd()),
      ].join("\n");
    })
    .filter((text) => text !== "")
    .join("\n\n");
}

/** Rows with aligned columns: the first to the left, numbers to the right. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths![column]!) : cell.padStart(widths![column]!)
    ).join("  ").trimEnd()
  );
}
