import assert from "node:assert/strict";
import { test } from "node:test";

import { gcra, limiter, type SyncStore } from "../../mod.ts";
import { plainFamily } from "../../core/plain_family.ts";
import { transact } from "../../core/transact.ts";

test("a family forgets a key under the options of today and all older ones", () => {
  const forgotten: string[] = [];
  const run: SyncStore["run"] = (operations, now = 0) => {
    const states = operations.map(({ bound: { family } }) => family.spec.algorithm.initial);
    return transact(operations, states, now).answers;
  };
  const forget = (names: readonly string[]) => void forgotten.push(...names);
  const store: SyncStore = {
    open: (spec) => plainFamily({ run, forget }, spec),
    run,
    close() {},
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const [today, before, first] = [3, 2, 1].map((limit) =>
    gcra({ limit, period: "1m", burst: limit })
  );
  const replaces = [before!, first!].map((algorithm) => ({ algorithm, mode: "keep" as const }));
  const api = limiter(today!, { store, prefix: "api", replaces });
  assert.equal(api.consume("a").remaining, 2);
  api.reset("a");
  assert.deepEqual(forgotten, [today, before, first].map((each) => `api:{a}:${each!.id}`));
});
