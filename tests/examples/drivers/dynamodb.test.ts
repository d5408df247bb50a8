import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { driverLaws, storeLaws } from "../../../adapters/testing/testing.ts";
import { dynamodb } from "../../../examples/drivers/dynamodb.ts";
import { consumeAll, gcra, limiter, StoreUnavailableError } from "../../../mod.ts";
import { compareAndSetStore } from "../../../stores/stores.ts";
import {
  type DynamodbEmulator,
  startDynamodb,
  TABLE,
} from "../../support/dynamodb/dynamodb_emulator.ts";
import { fcOptions } from "../../support/seed.ts";

const PATIENT = { deadline: 30_000, timeout: 60_000 };

describe("the driver of DynamoDB, on an emulator", () => {
  let emulator: DynamodbEmulator | undefined;
  before(async () => emulator = await startDynamodb());
  after(() => emulator?.stop());
  const driver = () => dynamodb(emulator!.client, TABLE);
  const make = () => compareAndSetStore(driver(), PATIENT);

  const ofStores = storeLaws(make, { reuse: true, writes: () => emulator!.writes() });
  const laws = [...driverLaws(driver), ...ofStores];
  for (const law of laws) {
    test(law.name, async () => await law.run(fcOptions({ numRuns: 3 })));
  }

  test("two stores admit exactly the limit, on one key and on two in both orders", async () => {
    const stores = [make(), make()];
    const algorithm = gcra({ limit: 20, period: "100d", burst: 20 });
    const limiters = stores.map((store) => limiter(algorithm, { store, prefix: "two" }));
    const calls = Array.from({ length: 30 }, (_, call) => limiters[call % 2]!.consume("key"));
    assert.equal((await Promise.all(calls)).filter(({ allowed }) => allowed).length, 20);
    const pairs = Array.from({ length: 30 }, (_, call) => {
      const keys = call % 3 === 0 ? ["a", "b"] : ["b", "a"];
      return consumeAll(keys.map((key) => ({ limiter: limiters[call % 2]!, key })));
    });
    assert.equal((await Promise.all(pairs)).filter(({ allowed }) => allowed).length, 20);
    for (const store of stores) await store.close();
  });

  test("a table that is missing is reported, and nothing was charged", async () => {
    const store = compareAndSetStore(dynamodb(emulator!.client, "other"), PATIENT);
    const api = limiter(gcra({ limit: 1, period: "1m", burst: 1 }), { store, prefix: "missing" });
    await assert.rejects(api.consume("key"), (error) => {
      assert.ok(error instanceof StoreUnavailableError);
      return error.applied === "no";
    });
    await store.close();
  });
});
