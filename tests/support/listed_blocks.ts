import { type AnyLimiterBase, blocked } from "../../mod.ts";

/** The keys that are blocked, sorted, each with the milliseconds of its block. */
export async function listedBlocks(
  limiter: AnyLimiterBase<"blocks">,
): Promise<readonly (readonly [key: string, blockedFor: number])[]> {
  const found: [string, number][] = [];
  for await (const { key, blockedFor } of blocked(limiter)) found.push([key, blockedFor]);
  return found.sort();
}
