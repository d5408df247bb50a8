/*
 * A process that takes from one key, from many keys and from two keys at once, in both orders, with
 * others that do the same; it prints how often it was admitted. Started by exactness.server.ts.
 */
import process from "node:process";
import pg from "pg";

import { ContentionError } from "../../../core/errors.ts";
import { consumeAll, gcra, limiter } from "../../../mod.ts";
import { postgresStore } from "../../../stores/postgres/postgres_store.ts";

/** How often it was admitted. */
export interface Report {
  readonly one: number;
  readonly many: number;
  readonly pairs: number;
  readonly conflicts: number;
}

const [url = "", limit = "", processes = ""] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 4 });
const store = postgresStore(pool, { deadline: 30_000, timeout: 60_000 });
const algorithm = gcra({ limit: Number(limit), period: "365d" });
const [one, many, pairs] = ["one", "many", "pairs"].map((prefix) =>
  limiter(algorithm, { store, prefix })
) as [typeof first, typeof first, typeof first];
const first = limiter(algorithm, { store, prefix: "first" });
const offered = Number(limit) / Number(processes) * 1.2;

await allAreReady();
console.log(JSON.stringify(
  {
    one: await admissions(offered, () => one.consume("key")),
    many: await admissions(offered * 20, (call) => many.consume(`key ${call % 20}`)),
    pairs: await admissions(offered, async (call) => {
      const keys = call % 2 === 0 ? ["a", "b"] : ["b", "a"];
      const { allowed } = await consumeAll(keys.map((key) => ({ limiter: pairs, key })));
      return { allowed };
    }),
    conflicts: store.statistics().conflicts,
  } satisfies Report,
));
await store.close();
await pool.end();

async function admissions(
  calls: number,
  take: (call: number) => Promise<{ readonly allowed: boolean }>,
): Promise<number> {
  let next = 0;
  let admitted = 0;
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (next < calls) if (await patiently(() => take(next++))) admitted++;
  }));
  return admitted;
}

async function patiently(take: () => Promise<{ readonly allowed: boolean }>): Promise<boolean> {
  try {
    return (await take()).allowed;
  } catch (error) {
    // Nothing was charged: it is as if the call had not been made.
    if (error instanceof ContentionError) return patiently(take);
    throw error;
  }
}

/** Waits until as many processes are ready as there should be. */
async function allAreReady(): Promise<void> {
  await pool.query("INSERT INTO ready VALUES (1)");
  for (;;) {
    const { rows: [row] } = await pool.query("SELECT count(*) AS count FROM ready");
    if (Number(row.count) >= Number(processes)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
