import process from "node:process";

/** The runtime at hand: `"bun"`, `"deno"`, or Node with its major version, `"node 24"`. */
export function runtime(): string {
  if ("Bun" in globalThis) return "bun";
  if ("Deno" in globalThis) return "deno";
  return `node ${process.versions.node.split(".")[0]}`;
}
