import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { type LogEntry, replayRules } from "../../../adapters/replay/replay.ts";
import { readRules } from "../../../adapters/rules/rules.ts";
import { all, gcra, slidingLog } from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";

const FILE = {
  domain: "shop",
  rules: [
    { key: "address", name: "clients", limits: [{ limit: 4, period: "10s", burst: 4 }] },
    {
      key: "path",
      name: "paths",
      limits: [{ algorithm: "slidingLog", limit: 9, period: "10s" }],
    },
  ],
};

const anyCall = fc.record({
  at: fc.nat({ max: 30_000 }),
  key: fc.constantFrom("192.0.2.1", "192.0.2.2", "192.0.2.3"),
  path: fc.constantFrom("/a", "/b"),
});

/** The plain way: both limits or none, by a state for each address and each path. */
function refusedOf(calls: readonly (Pick<LogEntry, "at" | "key"> & { path: string })[]): number {
  const clients = gcra({ limit: 4, period: "10s", burst: 4 });
  const paths = slidingLog({ limit: 9, period: "10s" });
  const both = all(clients, paths);
  const states = new Map<string, unknown>();
  let refused = 0;
  for (const { at, key, path } of calls) {
    const before = [states.get(key) ?? clients.initial, states.get(path) ?? paths.initial] as const;
    const [{ allowed }, after] = both.step(before, at, 1);
    if (!allowed) refused++;
    const [ofKey, ofPath] = after as readonly unknown[];
    states.set(key, ofKey);
    states.set(path, ofPath);
  }
  return refused;
}

test("replayRules decides as its limits do, side by side, in order of time", async () => {
  const { rules } = readRules([{ name: "rules", data: FILE }], undefined);
  await fc.assert(
    fc.asyncProperty(fc.array(anyCall, { minLength: 1, maxLength: 60 }), async (calls) => {
      const lines = calls.map(({ at, key, path }) =>
        JSON.stringify({ ts: 1_700_000_000 + at / 1_000, remote_addr: key, path: `${path}?x=1` })
      );
      const log = [...lines, ""].join("\n");
      const report = await replayRules([{ name: "log", log }], rules!, "all rules");
      const expected = refusedOf(
        calls.map((call) => ({ ...call, at: 1_700_000_000_000 + call.at }))
          .sort((one, other) => one.at - other.at),
      );
      const [first] = report.candidates;
      assert.deepEqual([report.requests, first!.name, first!.denied], [
        ...[calls.length, "all rules", expected],
      ]);
      assert.equal(report.clients, new Set(calls.map(({ key }) => key)).size);
    }),
    fcOptions(),
  );
});
