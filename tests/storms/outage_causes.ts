import { gcra, limiter } from "../../mod.ts";
import { redisStore } from "../../stores/redis/redis_store.ts";
import { newClient } from "../support/redis/new_client.ts";
import { type RedisProcess, startRedis } from "../support/redis/redis_process.ts";
import { pacedCalls } from "./paced_calls.ts";
import type { Row, Storm } from "./storm.ts";

/** Faults, and the commands that bring each about. */
const FAULTS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  OOM: [["CONFIG", "SET", "maxmemory", "1"]],
  READONLY: [["REPLICAOF", "127.0.0.1", "1"], ["CONFIG", "SET", "replica-read-only", "yes"]],
  NOPERM: [
    ["ACL", "SETUSER", "default", "-eval", "-evalsha"],
  ],
  WRONGPASS: [["ACL", "SETUSER", "default", "resetpass", ">other"], [
    "CLIENT",
    "KILL",
    "SKIPME",
    "yes",
  ]],
};

/** An outage that has a cause: how many of 300 calls in 3 seconds say which. */
export const outageCauses: Storm = {
  name: "outage causes",
  async run() {
    const rows: Row[] = [];
    for (const [fault, commands] of Object.entries(FAULTS)) {
      const redis = await startRedis();
      rows.push(await rowOf(redis, fault, commands));
      await redis.stop();
    }
    return rows;
  },
};

async function rowOf(
  redis: RedisProcess,
  fault: string,
  commands: readonly (readonly string[])[],
): Promise<Row> {
  const client = newClient(redis.url);
  if (fault === "WRONGPASS") client.options!.password = "wrong";
  const warn = console.warn;
  let printed = 0;
  console.warn = () => void printed++;
  const store = redisStore(client, { commit: "script" });
  const api = limiter(gcra({ limit: 1_000_000, period: "1h", burst: 1_000_000 }), {
    store,
    prefix: "api",
  });
  const admin = await newClient(redis.url).connect();
  if (fault !== "WRONGPASS") await api.consume("warm up");
  for (const command of commands) await admin.sendCommand(command);
  const { calls, errors } = await pacedCalls(100, 3_000, (index) => api.consume(`${index % 50}`));
  const causes = errors.filter(({ cause }) => (cause as Error).message.includes(fault));
  await store.close();
  admin.destroy();
  console.warn = warn;
  return { cause: fault, calls, failed: errors.length, "name the cause": causes.length, printed };
}
