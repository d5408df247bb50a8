/** The runtime that this runs on. */
export function runtime(): "bun" | "deno" | "node" {
  if ("Bun" in globalThis) return "bun";
  if ("Deno" in globalThis) return "deno";
  return "node";
}
