import process from "node:process";

/** Whether threads may listen on one port: on Bun, Deno, and Node 22.12 or later. */
export function sharesPort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 12);
}
