import type { Fault } from "./fault.ts";

/** A fault, and the law that caught it. */
export interface Result {
  readonly fault: Fault;
  readonly caught: string | undefined;
}

/** The page docs/internals/mutation.md. */
export function report(results: readonly Result[]): string {
  const caught = results.filter((result) => result.caught !== undefined);
  const law = (result: Result) => result.caught?.replace(/^.*?: /, "") ?? "**nothing**";
  return `# Faults that the laws catch

The laws of [\`tidegate/testing\`](../testing.md) are worth as much as the faults they find.
\`npm run mutation\` puts faults into a copy of the tree, one at a time, says which law catches each,
and writes this page. The faults themselves are in \`tests/mutation/faults\`.

${caught.length} of ${results.length} faults were caught.

${tableOf("put into", results.map(({ fault }) => `\`${fault.file}\``))}

${tableOf("first law that did not hold", results.map(law))}
`;
}

/** Each name once, and how often it stands there: the most frequent first. */
function tableOf(head: string, names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const rows = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return [[head, "faults"] as const, ["---", "---"] as const, ...rows]
    .map(([name, count]) => `| ${name} | ${count} |`)
    .join("\n");
}
