import type { Fault } from "./fault.ts";

/** A fault, and the law that caught it. */
export interface Result {
  readonly fault: Fault;
  readonly caught: string | undefined;
}

/** The page docs/mutation.md. */
export function report(results: readonly Result[]): string {
  const missed = results.filter(({ caught }) => caught === undefined).length;
  const rows = results.map(({ fault, caught }) => [
    fault.what,
    `\`${fault.file}\``,
    caught === undefined ? "**nothing**" : caught,
  ]);
  return `# Faults that the laws catch

The laws of [\`tidegate/testing\`](testing.md) are worth as much as the faults they find. These were
put into a copy of the tree, one at a time, by \`npm run mutation\`, which wrote this page. Each line
is a fault, where it was put, and the first law that did not hold then.

${results.length - missed} of ${results.length} faults were caught.

${tableOf(["fault", "put into", "caught by"], rows)}
`;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((line) => line.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  const padded = lines.map((line) => line.map((cell, i) => cell.padEnd(widths[i] ?? 0)));
  padded.splice(1, 0, widths.map((width) => "-".repeat(width)));
  return padded.map((line) => `| ${line.join(" | ")} |`).join("\n");
}
