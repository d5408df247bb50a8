// The laws on Deno KV: only Deno has it, with --unstable-kv. Started by deno_kv.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";

import { driverLaws, storeLaws } from "../../../adapters/testing/testing.ts";
import { denoKv, type Kv } from "../../../examples/drivers/deno_kv.ts";
import { gcra, limiter } from "../../../mod.ts";
import { type CompareAndSet, compareAndSetStore } from "../../../stores/stores.ts";
import { fcOptions } from "../../support/seed.ts";

const { Deno } = globalThis as {
  readonly Deno?: { readonly openKv?: (path: string) => Promise<Kv> };
};

for (const law of storeLaws(openStore, { reuse: true })) {
  test(`Deno KV: ${law.name}`, () => law.run(fcOptions({ numRuns: 5 })));
}
for (const law of driverLaws(sharedDrivers())) {
  test(`the driver of Deno KV: ${law.name}`, () => law.run(fcOptions({ numRuns: 3 })));
}
test("two stores on one Deno KV admit exactly the limit", admitsTheLimit);

async function openStore() {
  return compareAndSetStore(denoKv(await openKv()), { timeout: 5_000 });
}

/** Makes drivers of one database. No driver closes it. */
function sharedDrivers(): () => Promise<CompareAndSet> {
  let kv: Promise<Kv> | undefined;
  return async () => ({ ...denoKv(await (kv ??= openKv())), close: () => {} });
}

function openKv(): Promise<Kv> {
  const open = Deno?.openKv;
  assert.ok(open, "deno test must be run with --unstable-kv");
  return open(":memory:");
}

async function admitsTheLimit(): Promise<void> {
  const kv = await openKv();
  const stores = [1, 2].map(() => compareAndSetStore(denoKv(kv), { timeout: 20_000 }));
  const algorithm = gcra({ limit: 50, period: "100d", burst: 50 });
  const limiters = stores.map((store) => limiter(algorithm, { store, prefix: "api" }));
  const calls = Array.from({ length: 40 }, () => limiters.map((each) => each.consume("key")))
    .flat();
  const allowed = (await Promise.all(calls)).filter(({ allowed }) => allowed);
  assert.equal(allowed.length, 50);
  await stores[0]!.close();
}
