import { NO_VERSION } from "../../../../adapters/service/rules_version.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { readRules } from "../../../../adapters/rules/rules.ts";
import { fetchCall } from "../../../../adapters/service/http/incoming_call.ts";
import { REQUEST_BOUNDS } from "../../../../adapters/service/http/request_bounds.ts";
import { serviceThread } from "../../../../adapters/service/threads/service_thread.ts";
import { memoryStore } from "../../../../stores/memory/memory_store.ts";
import { fcOptions } from "../../../support/seed.ts";
import { SHOP } from "../support/running.ts";

const errors: unknown[] = [];
const thread = serviceThread({
  store: memoryStore(),
  lookup: undefined,
  token: undefined,
  maxBody: 65_536,
  maxConnections: 1,
  limits: REQUEST_BOUNDS,
  ipv6Prefix: 64,
  responseHeaders: false,
  shadow: false,
  lookupCache: undefined,
  trustedProxies: ["loopback"],
  reportsStore: true,
  show: () => Promise.reject(new Error("no page")),
  log: (event) => void (event["level"] === "warning" || errors.push(event)),
});
thread.apply(readRules([{ name: "shop", data: SHOP }], undefined).rules!, NO_VERSION);

const PATHS = ["/v1/consume", "/v1/peek", "/v1/refund", "/v1/reset", "/json"] as const;

/** JSON with the names that the service knows, and with values of every kind in their places. */
const { body } = fc.letrec((tie) => {
  const text = fc.oneof(
    fc.constantFrom("user", "42", "admin", "mallory", "shop", "route", "login", "", "__proto__"),
    fc.string(),
  );
  const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, 1, -1, 2 ** 53, 1e308));
  const leaf = fc.oneof(text, number, fc.boolean(), fc.constant(null));
  const value = fc.oneof({ depthSize: "small" }, leaf, tie("list"), tie("map"), tie("entries"));
  const entry = fc.oneof(
    fc.tuple(text, text),
    fc.record({ key: text, value: text }),
    tie("map"),
  );
  return {
    list: fc.array(value, { maxLength: 4 }),
    map: fc.record({
      domain: fc.oneof(fc.constant("shop"), value),
      descriptors: fc.oneof(fc.array(tie("descriptor"), { maxLength: 4 }), value),
      entries: tie("entries"),
      cost: fc.oneof(fc.nat({ max: 9 }), value),
      hitsAddend: fc.oneof(fc.nat({ max: 9 }), value),
      key: text,
      value: leaf,
    }, { requiredKeys: [] }),
    descriptor: fc.record({
      entries: tie("entries"),
      cost: fc.oneof(fc.nat({ max: 9 }), value),
      limit: fc.oneof(
        fc.record({ requestsPerUnit: number, unit: fc.constantFrom("HOUR", "EON", 3, 99) }),
        value,
      ),
      hitsAddend: number,
    }, { requiredKeys: ["entries"] }),
    entries: fc.oneof(
      fc.array(entry, { maxLength: 3 }),
      fc.dictionary(text, text, { maxKeys: 3 }),
      leaf,
    ),
    body: fc.oneof(
      tie("map"),
      fc.array(tie("map"), { maxLength: 3 }),
      value,
    ).map((each) => JSON.stringify(each) ?? ""),
  };
});

/** Text that was JSON until something happened to it. */
const damaged = fc.tuple(body as fc.Arbitrary<string>, fc.nat(), fc.string({ maxLength: 3 })).map(
  ([text, at, more]) => {
    const index = text.length === 0 ? 0 : at % text.length;
    return text.slice(0, index) + more + text.slice(index + 1);
  },
);

const KNOWN: ReadonlySet<number> = new Set([200, 400, 404, 413, 429]);

async function assertSound(path: string, text: BodyInit): Promise<number> {
  const request = new Request(`http://127.0.0.1${path}`, { method: "POST", body: text });
  const { status, headers, body } = await thread.handler(fetchCall(request, () => "127.0.0.1"));
  assert.ok(KNOWN.has(status), `${status} to ${path} ${text}`);
  const answer = JSON.parse(body as string);
  if (status >= 400 && status !== 429) {
    assert.equal(headers["content-type"], "application/problem+json");
    assert.equal(answer.status, status);
    assert.ok(answer.detail.length > 0 && answer.detail.length < 1_000, answer.detail);
  }
  return status;
}

test("whatever the body, the answer is a verdict or a problem, and never an error", async () => {
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...PATHS),
      fc.oneof(body as fc.Arbitrary<string>, damaged, fc.string()),
      async (path, text) => {
        seen.add(await assertSound(path, text));
      },
    ),
    fcOptions({ numRuns: 3_000 }),
  );
  assert.deepEqual(errors, []);
  for (const status of [200, 400]) assert.ok(seen.has(status), `no body led to a ${status}`);
});

test("bytes that are not text are a problem, too", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PATHS), fc.uint8Array(), async (path, bytes) => {
      await assertSound(path, new Uint8Array(bytes));
    }),
    fcOptions({ numRuns: 300 }),
  );
  assert.deepEqual(errors, []);
});

test("whatever the fields and the query of a check, it is answered", async () => {
  const value = fc.string({ unit: "grapheme-ascii", maxLength: 60 });
  const fields = fc.record({
    "x-original-uri": fc.oneof(value, value.map((each) => `/users/${each}`), fc.webPath()),
    "x-original-method": value,
    "x-forwarded-for": fc.oneof(value, fc.ipV4(), fc.ipV6()),
    "x-user": value,
  }, { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(fields, fc.webQueryParameters(), async (headers, query) => {
      const request = new Request(`http://127.0.0.1/check?${query}`, { headers });
      const { status } = await thread.handler(fetchCall(request, () => "127.0.0.1"));
      assert.ok(KNOWN.has(status), String(status));
    }),
    fcOptions({ numRuns: 1_000 }),
  );
  assert.deepEqual(errors, []);
});
