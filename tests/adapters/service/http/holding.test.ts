import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { objectSource, type RuleFile } from "../../../../adapters/rules/rules.ts";
import type { Service } from "../../../../adapters/service/service.ts";
import { rawRequest, statusOf } from "../../../support/raw_request.ts";
import { post, withService } from "../support/running.ts";

const STREAMS = { algorithm: "concurrency", limit: 2, ttl: "1h" } as const;
const REQUESTS = { limit: 60, period: "1h", burst: 60 } as const;
const TOKENS = { limit: 10_000, period: "1d", burst: 10_000 } as const;
const MONEY = { algorithm: "calendarWindow", limit: 100, every: "year", zone: "UTC" } as const;
const LLM: RuleFile = {
  domain: "llm",
  rules: [
    { key: "stream", limits: [STREAMS] },
    { key: "request", name: "requests", limits: [{ ...REQUESTS, reservable: true }] },
    { key: "tokens", limits: [{ ...TOKENS, reservable: true, within: "5m" }] },
    { key: "money", limits: [{ ...MONEY, reservable: true }] },
    { key: "plain", name: "no receipts", limits: [REQUESTS] },
  ],
};

const withLlm = (work: (service: Service) => Promise<void>, more: object = {}) =>
  withService(work, { rules: objectSource(LLM), ...more });

/** A call to a model: a stream and a request of its own cost, and an estimate of tokens. */
const call = (cost: number, team = "a") => ({
  descriptors: [
    { entries: { stream: team }, cost: 1 },
    { entries: { request: team }, cost: 1 },
    { entries: { tokens: team } },
  ],
  cost,
});

const left = async (service: Service, key: string) =>
  (await post(service, "/v1/peek", { entries: { [key]: "a" }, cost: 0 })).body.remaining;

describe("the service holds", () => {
  test("nothing by a malformed body, a 400 even where limits of keys are waited for", () => {
    const rules = LLM.rules!.map((rule) => ({ ...rule, lookup: "wait" as const }));
    const lookup = () => new Promise<undefined>((resolve) => setTimeout(resolve, 1));
    return withLlm(async (service) => {
      const { body } = await post(service, "/v1/reserve", call(100));
      assert.equal(body.allowed, true);
      const { receipt } = body;
      const malformed: readonly [path: string, body: unknown][] = [
        ["/v1/reserve", { entries: { plain: "a" } }],
        ["/v1/reserve", { entries: { tokens: "a" }, cost: -1 }],
        ["/v1/settle", { receipt, actual: [1] }],
        ["/v1/settle", { receipt, actual: -1 }],
        ["/v1/release", { receipt: { ...receipt, id: 0 } }],
      ];
      for (const [path, wrong] of malformed) {
        assert.equal(
          (await post(service, path, wrong)).status,
          400,
          `${path} ${JSON.stringify(wrong)}`,
        );
      }
      assert.equal((await post(service, "/v1/settle", { receipt, actual: 1 })).status, 200);
    }, { rules: objectSource({ ...LLM, rules }, lookup) });
  });

  test("a permit, which is renewed and released, once", () =>
    withLlm(async (service) => {
      const ask = { entries: { stream: "a" } };
      const { body: { permit, allowed } } = await post(service, "/v1/hold", ask);
      assert.equal(allowed, true);
      const { id, ...fixed } = permit;
      assert.ok(Number.isSafeInteger(id) && id > 0);
      assert.deepEqual(fixed, {
        domain: "llm",
        descriptors: [{ entries: [["stream", "a"]] }],
        cost: 1,
        ttl: 3_600_000,
      });
      await post(service, "/v1/hold", ask);
      const { body: refused } = await post(service, "/v1/hold", ask);
      assert.deepEqual([refused.allowed, refused.permit], [false, null]);
      assert.ok(refused.retryAfter > 3_500_000 && refused.retryAfter <= 3_600_000);
      assert.deepEqual((await post(service, "/v1/renew", { permit })).body, { held: true });
      const released = await post(service, "/v1/release", { permit });
      assert.deepEqual([released.status, released.body.outcome], [200, "settled"]);
      assert.equal((await post(service, "/v1/release", { permit })).body.outcome, "unknown");
      assert.deepEqual((await post(service, "/v1/renew", { permit })).body, { held: false });
      assert.equal(await left(service, "stream"), 1);
    }));

  test("a hold with an id of the caller's, sent again, holds once", () =>
    withLlm(async (service) => {
      const ask = { entries: { stream: "a" }, id: 4_711 };
      const [first, again] = [
        await post(service, "/v1/hold", ask),
        await post(service, "/v1/hold", ask),
      ];
      assert.deepEqual(first.body.permit, again.body.permit);
      assert.equal(await left(service, "stream"), 1);
    }));

  test("a reservation of all rules together, which is settled once", () =>
    withLlm(async (service) => {
      const { body: { receipt, allowed } } = await post(service, "/v1/reserve", call(8_000));
      assert.equal(allowed, true);
      assert.deepEqual([await left(service, "stream"), await left(service, "tokens")], [1, 2_000]);
      const refused = await post(service, "/v1/reserve", call(8_000));
      assert.deepEqual([refused.body.allowed, refused.body.receipt], [false, null]);
      assert.equal(await left(service, "request"), 59);
      assert.deepEqual((await post(service, "/v1/renew", { receipt })).body, { held: true });
      const { body } = await post(service, "/v1/settle", { receipt, actual: 3_000 });
      assert.deepEqual([body.outcome, body.returned, body.charged], ["settled", 5_000, 0]);
      assert.deepEqual(
        body.rules.map((
          each: Record<string, unknown>,
        ) => [each["rule"], each["outcome"], each["returned"]]),
        [["stream", "settled", 0], ["requests", "settled", 0], ["tokens", "settled", 5_000]],
      );
      const again = await post(service, "/v1/settle", { receipt, actual: 3_000 });
      assert.deepEqual([again.body.outcome, again.body.returned], ["unknown", 0]);
      assert.equal(await left(service, "stream"), 2);
      const tokens = await left(service, "tokens");
      assert.ok(tokens >= 7_000 && tokens < 7_100);
    }));

  test("a release gives everything back, and lists are answered by lists", () =>
    withLlm(async (service) => {
      const both = [call(100), call(50)];
      const reserved = await post(service, "/v1/reserve", both);
      const receipts = reserved.body.map(({ receipt }: { receipt: unknown }) => ({ receipt }));
      const released = await post(service, "/v1/release", receipts);
      assert.deepEqual(
        released.body.map(({ outcome }: { outcome: string }) => outcome),
        ["settled", "settled"],
      );
      assert.deepEqual(
        [
          await left(service, "stream"),
          await left(service, "request"),
          await left(service, "tokens"),
        ],
        [2, 60, 10_000],
      );
    }));

  test("a reservation whose descriptors are settled each at its own cost", () =>
    withLlm(async (service) => {
      const { body: { receipt } } = await post(service, "/v1/reserve", call(100));
      await post(service, "/v1/settle", { receipt, actual: [1, null, 40] });
      assert.deepEqual(
        [await left(service, "request"), await left(service, "tokens")],
        [59, 9_960],
      );
    }));
});

describe("the service refuses", () => {
  test("a call that would take permits that it could not give back", () =>
    withLlm(async (service) => {
      for (const path of ["/v1/consume", "/v1/refund"]) {
        const answer = await post(service, path, { entries: { stream: "a" } });
        assert.equal(answer.status, 409);
        assert.match(answer.body.detail, /must be asked by hold or reserve/);
      }
    }));

  test("a reservation by a rule that is not reservable, which it names, and takes nothing", () =>
    withLlm(async (service) => {
      const descriptors = [{ entries: { tokens: "a" } }, { entries: { plain: "a" } }];
      const answer = await post(service, "/v1/reserve", { descriptors, cost: 2 });
      assert.equal(answer.status, 400);
      assert.match(answer.body.detail, /rule no receipts must have reservable: true/);
      assert.deepEqual([await left(service, "tokens"), await left(service, "plain")], [10_000, 60]);
    }));

  test("malformed bodies, by what is wrong with them", () =>
    withLlm(async (service) => {
      const { body: { receipt } } = await post(service, "/v1/reserve", call(100));
      const wrong: readonly [path: string, body: unknown, status: number, detail: RegExp][] = [
        ["/v1/settle", { receipt }, 400, /^actual must be an integer of at least 0/],
        ["/v1/settle", { receipt, actual: 0.5 }, 400, /^actual must be an integer/],
        ["/v1/settle", { receipt, actual: [1] }, 400, /a list of 3, one a descriptor/],
        ["/v1/settle", { receipt, actual: [1, 1, "x"] }, 400, /^actual\[2\] must be an integer/],
        ["/v1/settle", { actual: 1 }, 400, /must have receipt, and nothing else/],
        ["/v1/settle", { permit: receipt, actual: 1 }, 400, /must have receipt/],
        ["/v1/release", { receipt, permit: receipt }, 400, /must have receipt or permit/],
        ["/v1/release", { receipt: "text" }, 400, /^receipt must be a map/],
        ["/v1/release", [{ receipt: { ...receipt, id: 0 } }], 400, /id must be/],
        ["/v1/release", { receipt: { ...receipt, parts: undefined } }, 400, /parts must be a list/],
        [
          "/v1/release",
          { receipt: { ...receipt, parts: [1] } },
          400,
          /receipt must come from reserve/,
        ],
        ["/v1/release", { receipt: { ...receipt, domain: 1 } }, 400, /domain must be text/],
        [
          "/v1/release",
          { receipt: { ...receipt, domain: "shop" } },
          404,
          /no rules for the domain/,
        ],
        ["/v1/release", { receipt: { ...receipt, descriptors: [] } }, 400, /descriptors must be/],
        ["/v1/hold", { entries: { stream: "a" }, id: "x" }, 400, /id must be/],
        ["/v1/hold", { entries: {} }, 400, /entries must hold/],
      ];
      for (const [path, body, status, detail] of wrong) {
        const answer = await post(service, path, body);
        assert.equal(answer.status, status, `${path} ${JSON.stringify(body)}`);
        assert.match(answer.body.detail, detail);
      }
      assert.equal(await left(service, "tokens"), 9_900);
      const many = Array.from({ length: 1_001 }, () => ({ receipt }));
      assert.equal((await post(service, "/v1/release", many)).status, 400);
    }));

  test("callers without the token, other methods and bodies that are too long", () =>
    withLlm(async (service) => {
      const port = Number(new URL(service.url).port);
      for (const path of ["hold", "renew", "reserve", "settle", "release"]) {
        assert.equal((await post(service, `/v1/${path}`, {})).status, 401);
        const got = await rawRequest(port, { path: `/v1/${path}` });
        assert.equal(got.status, 405);
        const head = `POST /v1/${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Tidegate-Token: secret\r\n`;
        assert.equal(await statusOf(port, `${head}Content-Length: 2000000\r\n\r\n`), 413);
        assert.equal(await statusOf(port, `${head}Content-Length: 4\r\n\r\n{"a"`), 400);
      }
    }, { token: "secret" }));
});
