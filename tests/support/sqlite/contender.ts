/*
 * A process that shares a SQLite file with others that do the same; it prints how often it was
 * admitted. Started by processes.test.ts.
 */
import { readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";

import { consumeAll, limiter } from "../../../mod.ts";
import { sqliteStore } from "../../../stores/sqlite/sqlite_store.ts";
import { PAIRS, PER_KEY, slow, TAKEN } from "./contest.ts";

/** The JSON that a contender prints. */
export interface Report {
  /** How often it was admitted on one key. */
  readonly one: number;
  /** How often it was admitted by one transaction a turn, on one key. */
  readonly turn: number;
  /** How often it was admitted on each of many keys. */
  readonly many: readonly number[];
  /** How often it was admitted on two keys at once. */
  readonly pairs: number;
}

const [path = "", place = "", processes = ""] = process.argv.slice(2);
const store = sqliteStore(path, { timeout: 20_000 });
const turnStore = sqliteStore(path, { timeout: 20_000, batch: "turn" });

await allAreReady();

const one = limiter(slow(TAKEN), { store, prefix: "one" });
let admitted = 0;
for (let call = 0; call < TAKEN * 0.4; call++) if (one.consume("key").allowed) admitted++;

const turn = limiter(slow(TAKEN), { store: turnStore, prefix: "turn" });
let together = 0;
for (let round = 0; round < 25; round++) {
  const calls = Array.from({ length: TAKEN * 0.4 / 25 }, () => turn.consume("key"));
  for (const { allowed } of await Promise.all(calls)) if (allowed) together++;
}

const keys = limiter(slow(PER_KEY), { store, prefix: "many" });
const many = Array.from({ length: 40 }, () => 0);
for (let call = 0; call < PER_KEY * 0.5 * many.length; call++) {
  // Each process goes another way through the keys.
  const key = (call * [1, 3, 7, 9][Number(place)]! + Number(place)) % many.length;
  if (keys.consume(`key ${key}`).allowed) many[key]!++;
}

const [a, b] = [1, 2].map((pair) => limiter(slow(PAIRS), { store, prefix: `pair ${pair}` }));
const order = Number(place) % 2 === 0 ? [a!, b!] : [b!, a!];
let pairs = 0;
for (let call = 0; call < PAIRS * 0.4; call++) {
  const decisions = consumeAll(order.map((limiter) => ({ limiter, key: "key" })));
  if (decisions.allowed) pairs++;
}

const report: Report = { one: admitted, turn: together, many, pairs };
console.log(JSON.stringify(report));
store.close();
await turnStore.close();

/** Waits until as many processes are ready as there should be. */
async function allAreReady(): Promise<void> {
  const folder = dirname(path);
  writeFileSync(join(folder, `ready ${place}`), "");
  const ready = () => readdirSync(folder).filter((name) => name.startsWith("ready")).length;
  while (ready() < Number(processes)) await new Promise((resolve) => setTimeout(resolve, 2));
}
