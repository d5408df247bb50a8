import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects what nobody can reach any more, such as a response that was thrown away. */
export function collectGarbage(): void {
  const { Bun } = globalThis as { Bun?: { gc(now: boolean): void } };
  if (Bun !== undefined) return Bun.gc(true);
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
