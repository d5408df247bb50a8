import assert from "node:assert/strict";
import { test } from "node:test";

import { storeLaws } from "../../../adapters/testing/testing.ts";
import { denoKv, type Kv } from "../../../examples/drivers/deno_kv.ts";
import { gcra, limiter } from "../../../mod.ts";
import { compareAndSetStore } from "../../../stores/stores.ts";
import { fcOptions } from "../../support/seed.ts";

const { Deno } = globalThis as {
  readonly Deno?: { readonly openKv?: (path: string) => Promise<Kv> };
};
const skip = Deno?.openKv === undefined ? "only Deno has it, with --unstable-kv" : false;
const open = async () =>
  compareAndSetStore(denoKv(await Deno!.openKv!(":memory:")), { timeout: 5_000 });

for (const law of storeLaws(open, { reuse: true })) {
  test(`Deno KV: ${law.name}`, { skip }, () => law.run(fcOptions({ numRuns: 5 })));
}

test("two stores on one Deno KV admit exactly the limit", { skip }, async () => {
  const kv = await Deno!.openKv!(":memory:");
  const stores = [1, 2].map(() => compareAndSetStore(denoKv(kv), { timeout: 20_000 }));
  const algorithm = gcra({ limit: 50, period: "100d" });
  const limiters = stores.map((store) => limiter(algorithm, { store, prefix: "api" }));
  const calls = Array.from({ length: 40 }, () => limiters.map((each) => each.consume("key")))
    .flat();
  const allowed = (await Promise.all(calls)).filter(({ allowed }) => allowed);
  assert.equal(allowed.length, 50);
  await stores[0]!.close();
});
