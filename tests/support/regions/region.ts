/*
 * A process in a region: it takes from one key by blocks of a Redis in the home region, and prints each
 * call that is admitted: when it began and ended, and its units. Started by regions.server.ts.
 */
import process from "node:process";

import { limiter } from "../../../mod.ts";
import { redisStore } from "../../../stores/redis/redis_store.ts";
import { lease } from "../../../stores/layered/layered.ts";
import { newClient } from "../redis/new_client.ts";
import { POLICY, TTL, UNITS } from "./policy.ts";

const [url = ""] = process.argv.slice(2);
const store = lease(redisStore(newClient(url), { deadline: 500, timeout: 1_000 }), {
  units: UNITS,
  ttl: TTL,
});
const api = limiter(POLICY, { store, prefix: "api" });

async function take(units: number): Promise<void> {
  const begin = Date.now();
  try {
    const { allowed } = await api.consume("key", units);
    if (allowed) process.stdout.write(`${JSON.stringify({ begin, end: Date.now(), units })}\n`);
  } catch {
    // Cut off: nothing was given.
  }
}

console.log("ready");
setInterval(() => {
  for (let call = 0; call < 5; call++) void take(1 + call % 2);
}, 4);
