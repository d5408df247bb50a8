/*
 * Exports of a tenant, two at once. Others wait for their turn, and are refused if that takes too
 * long.
 *
 *   bun examples/exports.ts
 */
import { concurrency, limiter, RateLimitedError, withPermit } from "../mod.ts";

const exports = limiter(concurrency({ limit: 2, ttl: "30s", maxHold: "10m" }));
let running = 0;
let most = 0;

async function exportRows(number: number, maxWait: number): Promise<void> {
  try {
    await withPermit(exports, "tenant:7", async (signal) => {
      most = Math.max(most, ++running);
      await writeRows(signal).finally(() => running--);
      console.log(`export ${number} done`);
    }, { maxWait });
  } catch (error) {
    if (!(error instanceof RateLimitedError)) throw error;
    console.log(`export ${number} refused: busy`);
  }
}

/** An example of work that ends early when its permit is lost. */
async function writeRows(signal: AbortSignal): Promise<void> {
  for (let part = 0; part < 5; part++) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

await Promise.all([
  ...[1, 2, 3, 4].map((number) => exportRows(number, 30_000)),
  exportRows(5, 0),
]);
console.log(`${most} at once at most, ${exports.peek("tenant:7", 0).remaining} free at the end`);
