/*
 * A process that takes from one key as often as its arguments say, with others that do the same; it
 * prints how often it was admitted. Started by exactness.test.ts.
 */
import process from "node:process";

import { ContentionError } from "../../../core/errors.ts";
import { limiter } from "../../../mod.ts";
import { redisStore } from "../../../stores/redis/redis_store.ts";
import { contested } from "./contested.ts";
import { newClient } from "./new_client.ts";

/** The JSON that a contender prints. */
export interface Report {
  /** How often it was admitted, for each algorithm. */
  readonly admitted: Readonly<Record<string, number>>;
  readonly conflicts: number;
  readonly contended: number;
}

const [url = "", commit = "", offered = "", processes = ""] = process.argv.slice(2);
const store = redisStore(newClient(url), {
  commit: commit as "watch" | "cas" | "script",
  deadline: 10_000,
});
const limiters = Object.entries(contested()).map(([name, algorithm]) => ({
  name,
  limiter: limiter(algorithm, { store, prefix: commit }),
}));

await Promise.all(limiters.map(({ limiter }) => limiter.peek("warm up")));
await allAreReady();
const admitted: Record<string, number> = {};
for (const { name, limiter } of limiters) {
  let left = Number(offered);
  admitted[name] = 0;
  await Promise.all(Array.from({ length: 64 }, async () => {
    while (left-- > 0) if (await take(limiter)) admitted[name]!++;
  }));
}
const { conflicts, contended } = store.statistics();
console.log(JSON.stringify({ admitted, conflicts, contended }));
await store.close();

async function take(from: (typeof limiters)[number]["limiter"]): Promise<boolean> {
  try {
    return (await from.consume("one key")).allowed;
  } catch (error) {
    // Nothing was charged: it is as if the call had not been made.
    if (error instanceof ContentionError) return take(from);
    throw error;
  }
}

/** Waits until as many processes are ready as there should be. */
async function allAreReady(): Promise<void> {
  const client = await newClient(url).connect();
  await client.incr(`ready by ${commit}`);
  while (Number(await client.get(`ready by ${commit}`)) < Number(processes)) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await client.close();
}
