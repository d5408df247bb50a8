import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { type LogEntry, readTrace, replay, replayRules } from "../../../adapters/replay/replay.ts";
import { readRules } from "../../../adapters/rules/rules.ts";
import { all, gcra, slidingLog } from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";
import { FIXTURES } from "./support/log_fixtures.ts";

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

describe("a rule by address refuses what its limit alone refuses", () => {
  const limit = { limit: 1, period: "1h", burst: 1 } as const;
  const rule = { key: "address", limits: [limit] };
  const routes = [{ descriptors: [{ address: "{address}" }] }];
  const { rules } = readRules(
    [{ name: "rules", data: { domain: "web", rules: [rule], routes } }],
    undefined,
  );
  const json = (fields: object) => `${JSON.stringify({ ts: 1_700_000_000, ...fields })}\n`;
  const hop = (xff: string) => json({ remote_addr: "10.0.0.5", http_x_forwarded_for: xff });
  const named = (xff: string) => json({ host: "shop.example", xff });
  const lists = ["9.9.1.1, 198.51.100.7", "unknown, 198.51.100.7", "8.8.8.8, 198.51.100.7", "-"];
  const six = lists.map((list) => list.replace("198.51.100.7", "2001:db8::1"));
  const logs = [
    ...FIXTURES.filter(({ options }) => typeof options?.key !== "string"),
    { what: "lists of JSON", text: lists.slice(0, -1).map(hop).join("") },
    {
      what: "lists in the column of --key",
      text: lists.map(named).join(""),
      options: { key: "xff" },
    },
    { what: "IPv6 in the column of --key", text: six.map(named).join(""), options: { key: "xff" } },
    {
      what: "lists with a proxy of one's own",
      text: lists.map((list) => hop(`${list}, 203.0.113.9`)).slice(0, -1).join(""),
      options: { proxies: ["203.0.113.0/24"] },
    },
  ];
  for (const { what, text, options } of logs) {
    test(what, async () => {
      const trace = await readTrace(text, options);
      const alone = await replay(trace, [{ algorithm: gcra(limit) }]);
      const { candidates: [all], ...asRules } = await replayRules(
        [{ name: "a log", log: text }],
        rules!,
        "rules",
        options,
      );
      const { candidates: [first], ...asLimit } = alone;
      assert.deepEqual(asRules, asLimit);
      assert.deepEqual([all!.denied, all!.clientsHit], [first!.denied, first!.clientsHit]);
      if (!FIXTURES.some((fixture) => fixture.what === what)) {
        assert.deepEqual([asLimit.requests, asLimit.clients, first!.denied], [3, 1, 2]);
        assert.equal(asLimit.log?.hasLists, true);
      }
    });
  }

  test("and a client with a name has an address beside it", async () => {
    const text = ["ada", "bob", "-"].map((user) => json({ user, remote_addr: "192.0.2.7:80" }));
    const log = text.join("");
    const { clients, log: facts, candidates: [all] } = await replayRules(
      ...[[{ name: "a log", log }], rules!, "rules", { key: "user" }] as const,
    );
    assert.deepEqual([clients, facts?.keys, facts?.unnamed, all!.denied], [2, ["user"], 1, 1]);
  });
});

test("routes match columns in any case of letters, and headers as servers name them", async () => {
  const data = {
    domain: "web",
    rules: [{ key: "login", limits: [{ limit: 1, period: "1h", burst: 1 }] }],
    routes: [{
      path: "/login",
      methods: ["POST"],
      descriptors: [{ login: "{header.x-api-key}" }],
    }],
  };
  const { rules } = readRules([{ name: "rules", data }], undefined);
  for (const column of ["X-API-Key", "http_x_api_key", "x_api_key"]) {
    const log = `Time,Client_IP,Method,URL,${column}\n1,192.0.2.1,POST,/login,k\n` +
      "2,192.0.2.2,POST,/login?a,k\n3,192.0.2.2,GET,/login,k\n4,192.0.2.2,POST,/login,j\n";
    const { candidates: [all] } = await replayRules([{ name: "a log", log }], rules!, "rules");
    assert.equal(all!.denied, 1, column);
  }
});

test("IPv6 networks are as large as the rule file says, or as --key says", async () => {
  const log = "time,ip\n1,2001:db8:0:1::1\n2,2001:db8:0:2::1\n";
  const rule = { key: "address", limits: [{ limit: 1, period: "1h", burst: 1 }] };
  const file = {
    domain: "web",
    rules: [rule],
    routes: [{ descriptors: [{ address: "{address}" }] }],
  };
  const cases = [[{}, undefined, 0], [{ ipv6Prefix: 56 }, undefined, 1], [{}, "ip/56", 1]] as const;
  for (const [own, key, denied] of cases) {
    const { rules } = readRules([{ name: "rules", data: { ...file, ...own } }], undefined);
    const report = await replayRules([{ name: "a log", log }], rules!, "rules", { key });
    assert.equal(report.candidates[0]!.denied, denied);
    assert.equal(report.clients, key === undefined ? 2 : 1);
  }
});
