import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, test } from "node:test";

import type { AsyncStore } from "../../../../core/store.ts";
import { memoryStore, StoreUnavailableError } from "../../../../mod.ts";
import { fileSource, objectSource, type RuleFile } from "../../../../adapters/rules/rules.ts";
import { type LogEvent, serve, type ServeOptions } from "../../../../adapters/service/service.ts";
import { sharedStore } from "../../../../stores/shared/shared_store.ts";
import { rootPath } from "../../../support/tree.ts";
import { rawRequest } from "../../../support/raw_request.ts";
import { descriptor, get, oneRule, post, SHOP, until, withService } from "../support/running.ts";
import { wrapStore } from "../../../../core/wrap_store.ts";

const HALF_A_BODY = "POST /v1/consume HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{";

const asking = (user: string, cost?: number) => ({ entries: { user }, cost });

/** A call of Envoy's with one descriptor. */
const call = (value: string, more?: object, key?: string) => ({
  domain: "shop",
  descriptors: [descriptor(value, more, key)],
});

describe("the service", () => {
  test("decides and takes, looks, gives back and forgets", () =>
    withService(async (service) => {
      const first = await post(service, "/v1/consume", asking("42", 2));
      assert.equal(first.status, 200);
      assert.equal(first.headers.get("content-type"), "application/json");
      const { rules, ...decision } = first.body;
      assert.deepEqual(rules, [{ rule: "per-user", shadow: false, ...decision }]);
      const { nextAfter, resetAfter, ...fixed } = decision;
      const expected = { allowed: true, limit: 3, remaining: 1, retryAfter: 0, delay: 0, debt: 0 };
      assert.deepEqual(fixed, expected);
      assert.ok(nextAfter > 0 && nextAfter < resetAfter);
      assert.equal((await post(service, "/v1/peek", asking("42", 2))).body.allowed, false);
      assert.equal((await post(service, "/v1/peek", asking("42", 1))).body.remaining, 0);
      assert.equal((await post(service, "/v1/refund", asking("42", 1))).body.remaining, 2);
      assert.equal((await post(service, "/v1/consume", asking("42", 9))).body.retryAfter, null);
      assert.deepEqual((await post(service, "/v1/reset", asking("42"))).body, { reset: 1 });
      assert.equal((await post(service, "/v1/peek", asking("42", 0))).body.remaining, 3);
    }));

  test("blocks keys of limits that are blockable, and tells the log why, not whom", async () => {
    const events: LogEvent[] = [];
    const limits = [{ limit: 3, period: "1h", burst: 3, blockable: true }, {
      limit: 9,
      period: "1d",
    }] as const;
    const blocking = (user: string, duration: unknown, reason?: unknown) => {
      return { entries: { user }, duration, reason };
    };
    await withService(async (service) => {
      await post(service, "/v1/consume", asking("42", 2));
      const blocked = await post(service, "/v1/block", blocking("42", "10m", "stolen card"));
      assert.deepEqual([blocked.status, blocked.body], [200, { blocked: 1 }]);
      const { body } = await post(service, "/v1/peek", asking("42", 1));
      assert.deepEqual([body.allowed, body.remaining], [false, 0]);
      assert.ok(body.retryAfter > 590_000 && body.retryAfter <= 600_000);
      assert.deepEqual((await post(service, "/v1/unblock", asking("42"))).body, { unblocked: 1 });
      assert.equal((await post(service, "/v1/consume", asking("42", 1))).body.remaining, 0);
      const many = [blocking("43", "1h"), blocking("44", 5_000)];
      assert.deepEqual((await post(service, "/v1/block", many)).body, { blocked: 2 });
      assert.ok((await post(service, "/v1/peek", asking("44", 1))).body.retryAfter <= 5_000);
      await post(service, "/v1/reset", [asking("43"), asking("44")]);
      assert.equal((await post(service, "/v1/consume", asking("43", 1))).body.allowed, true);
      for (
        const [bad, detail] of [
          [blocking("42", undefined), /duration must be whole milliseconds/],
          [blocking("42", "1y"), /duration must be whole milliseconds/],
          [[blocking("45", "1h"), blocking("42", -1)], /\[1\]\.duration must be/],
          [blocking("42", "1h", "x".repeat(201)), /reason must be at most 200 characters/],
          [blocking("42", "1h", 5), /reason must be/],
        ] as const
      ) {
        const answer = await post(service, "/v1/block", bad);
        assert.equal(answer.status, 400);
        assert.match(answer.body.detail, detail);
      }
      assert.equal((await post(service, "/v1/peek", asking("45", 1))).body.allowed, true);
    }, {
      rules: objectSource({ domain: "shop", rules: [{ key: "user", limits }] }),
      log: (event) => void events.push(event),
    });
    const told = events.filter(({ event }) => event.startsWith("keys-"));
    assert.deepEqual(told[0], {
      event: "keys-blocked",
      level: "info",
      count: 1,
      blocks: [{ domain: "shop", duration: 600_000, reason: "stolen card" }],
    });
    assert.equal(told[1]?.event, "keys-unblocked");
  });

  test("refuses to block where no limit is blockable, and without the token", () =>
    withService(async (service) => {
      const body = { ...asking("42"), duration: "1h" };
      const token = { authorization: "Bearer secret" };
      assert.equal((await post(service, "/v1/block", body)).status, 401);
      assert.equal((await post(service, "/v1/unblock", body)).status, 401);
      const refused = await post(service, "/v1/block", body, token);
      assert.equal(refused.status, 409);
      assert.match(refused.body.detail, /no limit of these requests has blockable: true/);
      const nobody = { ...body, domain: "nowhere" };
      assert.equal((await post(service, "/v1/block", nobody, token)).status, 404);
    }, { token: "secret" }));

  test("decides many at once, each by itself", () =>
    withService(async (service) => {
      const many = ["a", "a", "a", "a", "b", "admin", "mallory"].map((user) => asking(user));
      const { body } = await post(service, "/v1/consume", many);
      assert.deepEqual(
        body.map(({ allowed }: { allowed: boolean }) => allowed),
        [true, true, true, false, true, true, false],
      );
      assert.equal((await post(service, "/v1/peek", [asking("c")])).body.length, 1);
    }));

  test("takes descriptors in every form", () =>
    withService(async (service) => {
      const forms = [
        { route: "login", address: "a" },
        [["route", "login"], ["address", "a"]],
        [{ key: "route", value: "login" }, { key: "address", value: "a" }],
      ];
      for (const [index, entries] of forms.entries()) {
        const asked = { domain: "shop", descriptors: [{ entries }] };
        const { body } = await post(service, "/v1/consume", asked);
        assert.deepEqual([body.rules[0].rule, body.allowed], ["logins", index < 2]);
      }
    }));

  test("charges what was used, beyond the limit if need be, and reports the debt", () =>
    withService(async (service) => {
      const used = { ...asking("42", 10), charge: true };
      const { body } = await post(service, "/v1/consume", used);
      assert.deepEqual([body.allowed, body.remaining, body.debt], [true, 0, 7]);
      assert.deepEqual([body.rules[0].debt, body.rules[0].allowed], [7, true]);
      const look = await post(service, "/v1/peek", asking("42", 0));
      assert.deepEqual([look.body.allowed, look.body.debt], [true, 7]);
      const refused = await post(service, "/v1/consume", asking("42"));
      assert.deepEqual([refused.body.allowed, refused.body.debt], [false, 7]);
      assert.equal((await post(service, "/v1/refund", asking("42", 8))).body.remaining, 1);
    }));

  test("reports the verdict that a shadow would have given", () =>
    withService(async (service) => {
      await post(service, "/v1/consume", { entries: { plan: "free" } });
      const { body } = await post(service, "/v1/consume", { entries: { plan: "free" } });
      assert.equal(body.allowed, true);
      assert.equal(body.rules[0].wouldAllow, false);
    }));

  test("refuses nothing in shadow, and reports what it would have refused", () =>
    withService(async (service) => {
      const limit = { requestsPerUnit: 1, unit: "DAY" };
      for (let times = 0; times < 2; times++) {
        await post(service, "/v1/consume", asking("42", 3));
        assert.equal((await post(service, "/json", call("43", { limit }))).status, 200);
      }
      const { body } = await post(service, "/v1/peek", asking("42"));
      const [rule] = body.rules;
      assert.deepEqual([body.allowed, rule.shadow, rule.wouldAllow], [true, true, false]);
      assert.equal((await post(service, "/v1/consume", asking("mallory"))).body.allowed, true);
      const { body: metrics } = await get(service, "/metrics");
      const line = 'tidegate_decisions_total{domain="shop",rule="per-user",verdict=';
      assert.ok(metrics.includes(`${line}"refused"} 0\n`), metrics);
      assert.ok(metrics.includes(`${line}"shadow_refused"} 1\n`), metrics);
    }, { shadow: true }));

  test("counts its decisions", () =>
    withService(async (service) => {
      for (let times = 0; times < 5; times++) await post(service, "/v1/consume", asking("42"));
      await post(service, "/v1/consume", "nonsense");
      const { headers, body } = await get(service, "/metrics");
      assert.match(headers.get("content-type") ?? "", /^text\/plain; version=0.0.4/);
      const lines = body.split("\n");
      for (
        const line of [
          'tidegate_decisions_total{domain="shop",rule="per-user",verdict="admitted"} 3',
          'tidegate_decisions_total{domain="shop",rule="per-user",verdict="refused"} 2',
          'tidegate_near_limit_total{domain="shop",rule="per-user"} 1',
          'tidegate_calls_total{route="/v1/consume",status="200"} 5',
          'tidegate_calls_total{route="/v1/consume",status="400"} 1',
          "tidegate_call_seconds_count 6",
          'tidegate_call_seconds_bucket{le="+Inf"} 6',
          "tidegate_store_keys 1",
          "tidegate_rules_loads_total 1",
          "tidegate_rules_refusals_total 0",
          "tidegate_thread_restarts_total 0",
          "# TYPE process_cpu_seconds_total counter",
          "# HELP tidegate_rules_loads_total rules loads.",
        ]
      ) {
        assert.ok(lines.includes(line), `${line} in\n${body}`);
      }
      for (const line of lines) {
        assert.match(line, /^$|^# (HELP|TYPE) [a-z_]+ .+$|^[a-z_]+(\{[^}]*\})? [0-9.e+-]+$/);
      }
    }));

  test("says whether it lives and is ready, and shows a page", () =>
    withService(async (service) => {
      assert.equal((await get(service, "/healthz")).status, 200);
      assert.equal((await get(service, "/readyz")).status, 200);
      const page = await get(service, "/");
      assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
      assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'self'/);
      for (const file of ["/page.js", "/charts.js", "/elements.js", "/try_form.js", "/page.css"]) {
        assert.equal((await get(service, file)).status, 200);
      }
    }));

  test("counts the rules that there are, by the names that they have", () => {
    const source = objectSource({ domain: "shop", rules: [] });
    const limits = [{ limit: 9, period: "1h", burst: 9 }] as const;
    return withService(async (service) => {
      for (const name of ["old", "new"]) {
        source.set({ domain: "shop", rules: [{ key: "user", name, limits }] });
        assert.equal(await service.reload(), true);
        await post(service, "/v1/consume", asking("a"));
        const limit = { requestsPerUnit: 5, unit: "MINUTE" };
        await post(service, "/json", call("a", { limit }));
      }
      const { rules } = await service.figures();
      const counts = rules.map(({ rule, admitted }) => [rule, admitted]).sort();
      assert.deepEqual(counts, [["new", 1], ["override", 2]]);
    }, { rules: source });
  });

  test("shows a rule with its limits, and whether the last load failed", () => {
    const written: RuleFile = {
      domain: "shop",
      rules: [{
        key: "user",
        shadow: true,
        limits: [{ algorithm: "fixedWindow", limit: 9, period: "1h" }],
      }],
    };
    const source = objectSource(written);
    return withService(async (service) => {
      const live = async () => (await get(service, "/v1/live")).body;
      const { rules: [rule], loaded } = await live();
      const { label, kind, shadow, limits } = rule;
      const limit = { algorithm: "fixedWindow", limit: 9, period: 3_600_000, burst: 9 };
      assert.deepEqual([label, kind, shadow, limits], ["user", "limited", true, [limit]]);
      assert.deepEqual([loaded.failedAt, loaded.reason], [null, ""]);
      source.set({ domain: "", rules: [] });
      assert.equal(await service.reload(), false);
      const failed = (await live()).loaded;
      assert.ok(failed.failedAt >= loaded.at && failed.at === loaded.at);
      assert.match(failed.reason, /domain/);
      source.set(written);
      assert.equal(await service.reload(), true);
      assert.equal((await live()).loaded.failedAt, null);
    }, { rules: source });
  });

  test("counts detailed rules by key, a thousand of them, and the rest as a whole", () => {
    const file = `${rootPath}tests/vectors/envoy-config/tests-valid/basic_config.yaml`;
    const domain = "test-domain";
    return withService(async (service) => {
      const ask = (value: string, key = "key7") => ({ domain, entries: { [key]: value } });
      const many = Array.from({ length: 1_001 }, (_, index) => ask(`value${index}`));
      await post(service, "/v1/consume", many.slice(0, 600));
      const others = [ask("value0"), ask("value3", "key4")];
      await post(service, "/v1/consume", [...many.slice(600), ...others]);
      const { body } = await get(service, "/metrics");
      const line = (labels: string, count: number) =>
        `tidegate_decisions_total{domain="test-domain",${labels},verdict="admitted"} ${count}\n`;
      for (
        const [labels, count] of [
          ['rule="key7",key="key7=value0"', 2],
          ['rule="key7",key="key7=value999"', 1],
          ['rule="key7"', 1],
          ['rule="key4_rate_limit"', 1],
        ] as const
      ) assert.ok(body.includes(line(labels, count)), `${labels}`);
      assert.ok(!body.includes("value1000"));
      const { rules } = (await get(service, "/v1/live?search=key7")).body;
      assert.deepEqual(rules.map((each: { admitted: number }) => each.admitted), [1_002]);
    }, { rules: fileSource(file) });
  });

  test("lists the keys refused most, the most often refused first", () =>
    withService(async (service) => {
      for (let times = 0; times < 8; times++) await post(service, "/v1/consume", asking("loud"));
      for (let times = 0; times < 4; times++) await post(service, "/v1/consume", asking("quiet"));
      const { body } = await get(service, "/v1/live");
      assert.deepEqual(
        body.keys.map(({ key, refused }: { key: string; refused: number }) => [key, refused]),
        [["user=loud", 5], ["user=quiet", 1]],
      );
    }));
});

describe("the service refuses with a problem:", () => {
  const long = "x".repeat(1_025);
  const cases: readonly [name: string, body: unknown, status: number, detail: RegExp][] = [
    ["no JSON", "{", 400, /must be JSON/],
    ["no body", "", 400, /must be JSON/],
    ["a number", "7", 400, /the body must be a map, not 7/],
    ["no entries", {}, 400, /entries must be a map, not undefined/],
    ["a value of another type", { entries: { user: 42 } }, 400, /entries.user must be text/],
    ["an empty value", { entries: { user: "" } }, 400, /entries.user must be text/],
    ["a key that is too long", { entries: { [long]: "a" } }, 400, /1 to 1024 characters/],
    ["a key of digits", { entries: { "7": "a" } }, 400, /list of pairs/],
    ["a negative cost", asking("a", -1), 400, /cost must be an integer of at least 0, not -1/],
    ["half a cost", asking("a", 0.5), 400, /cost must be an integer/],
    ["an endless cost", '{"entries":{"user":"a"},"cost":1e999}', 400, /cost must be an integer/],
    ["a charge of 1", { ...asking("a"), charge: 1 }, 400, /charge must be true or false, not 1/],
    ["both forms", { descriptors: [{}], entries: {} }, 400, /must not be given both/],
    ["too many requests", Array(1_001).fill(asking("a")), 400, /at most 1000 requests, not 1001/],
    ["one bad of many", [asking("a"), {}], 400, /^\[1\].entries must be a map/],
    ["an unknown domain", { ...asking("a"), domain: "other" }, 404, /no rules for .*other/],
    ["deep nesting", "[".repeat(100_000), 400, /must be JSON|must be a map/],
    ["a large body", "x".repeat(2 ** 20 + 1), 413, /at most 1048576 bytes/],
  ];
  const titles = new Map([[400, "Bad Request"], [404, "Not Found"], [413, "Content Too Large"]]);
  test(cases.map(([name]) => name).join(", "), () =>
    withService(async (service) => {
      for (const [name, body, status, detail] of cases) {
        for (const path of ["/v1/consume", "/v1/peek", "/v1/refund", "/v1/reset"]) {
          const answer = await post(service, path, body);
          assert.equal(answer.status, status, name);
          assert.equal(answer.headers.get("content-type"), "application/problem+json", name);
          assert.equal(answer.body.status, status, name);
          assert.equal(answer.body.title, titles.get(status), name);
          assert.match(answer.body.detail, detail, name);
        }
      }
      const { body } = await post(service, "/v1/peek", asking("a", 0));
      assert.equal(body.remaining, 3, "nothing was charged");
    }));

  test("more limits at once than the store charges", async () => {
    const limits = [{ limit: 2, period: "1m", burst: 2 }, {
      limit: 3,
      period: "1h",
      burst: 3,
    }] as const;
    const rules = objectSource({ domain: "shop", rules: [{ key: "user", limits }] });
    const errors: unknown[] = [];
    const log = ({ level, error }: LogEvent) => level === "error" && errors.push(error);
    await withService(async (service) => {
      const users = Array.from({ length: 13 }, (_, index) => ({ entries: { user: `${index}` } }));
      const many = await post(service, "/v1/consume", { descriptors: users });
      assert.equal(many.status, 400);
      assert.match(many.body.detail, /at most 24 limits together on this store/);
    }, { rules, log, store: sharedStore({ capacity: 100 }) });
    assert.deepEqual(errors, []);
  });

  test("a chunked body that never ends", () =>
    withService(async (service) => {
      const status = await new Promise<string>((resolve) => {
        const socket = connect(service.port, "127.0.0.1", () => {
          socket.write(
            "POST /v1/consume HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
          );
          const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
          const more = () => {
            while (!socket.destroyed && socket.write(chunk));
          };
          socket.on("drain", more);
          more();
        });
        socket.once("data", (data) => {
          socket.destroy();
          resolve(/^HTTP\/1.1 (\d+)/.exec(String(data))![1]!);
        });
        socket.on("error", () => {});
        socket.on("close", () => resolve("closed"));
      });
      assert.match(status, /413|closed/);
      assert.equal((await get(service, "/healthz")).status, 200);
    }));

  test("unknown paths and wrong methods", () =>
    withService(async (service) => {
      assert.equal((await get(service, "/v1/nothing")).status, 404);
      assert.equal((await get(service, "/../../etc/passwd")).status, 404);
      assert.equal((await get(service, "/page/index.html")).status, 404);
      const wrong = await get(service, "/v1/consume");
      assert.equal(wrong.status, 405);
      assert.equal(wrong.headers.get("allow"), "POST");
      assert.equal((await post(service, "/metrics", {})).status, 405);
      for (const path of ["/v1/consum", "/v1/decide", "/page/none.js"]) {
        assert.equal((await post(service, path, {})).status, 404, path);
      }
    }));

  test("calls that a browser makes for another site", () =>
    withService(async (service) => {
      const answer = await post(service, "/v1/consume", asking("a"), {
        origin: "https://evil.example",
      });
      assert.equal(answer.status, 403);
      const own = await post(service, "/v1/consume", asking("a"), { origin: service.url });
      assert.equal(own.status, 200);
    }));

  test("calls that a browser makes by a name that leads here, unless they bring the token", async () => {
    // As after DNS rebinding: the page's name leads to this machine.
    const lines = ["Origin: http://evil.example", "Content-Type: application/json"];
    const call = { method: "POST", path: "/v1/consume", body: JSON.stringify(asking("a")), lines };
    const own = { ...call, lines: [...lines, "X-Tidegate-Token: secret"] };
    const statusOf = async ({ port }: { readonly port: number }, given: typeof call) =>
      (await rawRequest(port, { ...given, host: "evil.example" })).status;
    await withService(async (service) => assert.equal(await statusOf(service, call), 403));
    await withService(async (service) => {
      assert.equal(await statusOf(service, call), 401);
      assert.equal(await statusOf(service, own), 200);
    }, { token: "secret" });
  });
});

test("the page takes no units, and shows no keys to people without the right to see them", async () => {
  const rules = oneRule("user", 2, [{ descriptors: [{ user: "{header.x-user}" }] }]);
  const lines = ["X-User: a"];
  const page = { method: "GET", path: "/", body: "", lines };
  const live = { method: "GET", path: "/v1/live", body: "", lines: [] };
  await withService(async (service) => {
    const own = { ...page, lines: [...lines, "X-Tidegate-Token: secret"] };
    for (const each of [page, own, page, own]) {
      assert.equal((await rawRequest(service.port, each)).status, 200);
    }
    const token = { "x-tidegate-token": "secret" };
    assert.equal((await post(service, "/v1/peek", asking("a", 0), token)).body.remaining, 2);
  }, { rules, token: "secret" });
  await withService(async (service) => {
    const host = `evil.example:${service.port}`;
    for (let times = 0; times < 3; times++) {
      assert.equal((await rawRequest(service.port, { ...page, host })).status, 200, host);
    }
    assert.equal((await post(service, "/v1/peek", asking("a", 0))).body.remaining, 2);
    assert.doesNotMatch((await rawRequest(service.port, { ...live, host })).body, /"keys":\[/);
    for (const name of ["localhost", "127.0.0.1", "[::1]"]) {
      const by = { ...live, host: `${name}:${service.port}` };
      assert.match((await rawRequest(service.port, by)).body, /"keys":\[/, name);
    }
  }, { rules });
});

test("an empty token is refused at the start: somebody meant to shut others out", async () => {
  for (const token of ["", 7 as unknown as string]) {
    await assert.rejects(
      withService(() => Promise.resolve(), { token }),
      /^TypeError: Cannot serve as token must be printable ASCII text that is not empty: current value is/,
    );
  }
});

test("with a token, only callers who have it can change anything, or look at a key", () =>
  withService(async (service) => {
    const paths = ["/v1/consume", "/v1/peek", "/v1/refund", "/v1/reset", "/json"];
    for (const path of paths) {
      for (
        const headers of [
          {},
          { authorization: "Bearer wrong" },
          { authorization: "secret" },
          { "x-tidegate-token": "secre" },
        ]
      ) {
        const { status, body } = await post(service, path, asking("a"), headers as never);
        assert.equal(status, 401, path);
        assert.equal(body.title, "Unauthorized");
      }
    }
    assert.equal((await get(service, "/check")).status, 401);
    const bearer = { authorization: "Bearer secret" };
    assert.equal((await post(service, "/v1/peek", asking("a"), bearer)).body.remaining, 2);
    assert.equal((await post(service, "/v1/consume", asking("a"), bearer)).status, 200);
    const own = { "x-tidegate-token": "secret" };
    assert.equal((await get(service, "/check", { ...own, "x-original-uri": "/" })).status, 200);
    const shown = async (headers: Readonly<Record<string, string>>) => {
      const { keys, loaded } = (await get(service, "/v1/live?search=a", headers)).body;
      return [keys?.length, loaded.rules, loaded.source, loaded.reason];
    };
    assert.deepEqual(await shown({}), [undefined, 6, undefined, undefined]);
    assert.deepEqual(await shown(own), [1, 6, "object", ""]);
  }, { token: "secret" }));

describe("Envoy's JSON", () => {
  test("is answered in the same form", () =>
    withService(async (service) => {
      const first = await post(service, "/json", { ...call("42"), hitsAddend: 2 });
      assert.equal(first.status, 200);
      const { durationUntilReset, ...status } = first.body.statuses[0];
      assert.match(durationUntilReset, /^\d+s$/);
      assert.equal(first.body.overallCode, "OK");
      assert.deepEqual(status, {
        code: "OK",
        currentLimit: { name: "per-user", requestsPerUnit: 3, unit: "HOUR" },
        limitRemaining: 1,
      });
      const second = await post(service, "/json", { ...call("42"), hits_addend: "2" });
      assert.equal(second.status, 429);
      assert.equal(second.body.overallCode, "OVER_LIMIT");
      const back = call("42", { hitsAddend: "2", isNegativeHits: true });
      const third = await post(service, "/json", back);
      assert.deepEqual([third.status, third.body.statuses[0].limitRemaining], [200, 1]);
      assert.equal(second.body.statuses[0].code, "OVER_LIMIT");
    }));

  for (const charge of ["together", "each"] as const) {
    test(`is checked, then reports what was used: where charged ${charge}, debt is over the limit`, () => {
      const limits = [
        { limit: 1_000, period: "1h" as const, burst: 1_000 },
        { algorithm: "slidingLog" as const, limit: 500, period: "1d" as const },
      ];
      const rules = objectSource({
        domain: "shop",
        charge,
        rules: [{ key: "user", limits }, { key: "shadow", shadow: true, limits }],
      });
      return withService(async (service) => {
        const ask = (hitsAddend: number, key = "user") =>
          post(service, "/json", call("42", { hitsAddend }, key));
        assert.equal((await ask(0)).status, 200);
        // Three answers are under way at once. Count their outcomes, whatever is left.
        const reported = [await ask(400), await ask(300), await ask(200)];
        assert.deepEqual(reported.map(({ status }) => status), [200, 429, 429]);
        const checked = await ask(0);
        assert.equal(checked.status, 429);
        const [status] = checked.body.statuses;
        assert.deepEqual([status.code, status.limitRemaining], ["OVER_LIMIT", undefined]);
        assert.equal(status.currentLimit.requestsPerUnit, 500);
        assert.equal((await ask(1)).status, 429, "and takes nothing");
        const { body } = await post(service, "/v1/peek", { entries: { user: "42" }, cost: 0 });
        assert.equal(body.debt, 400);
        await post(service, "/json", call("42", { hitsAddend: 400, isNegativeHits: true }));
        assert.equal((await ask(0)).status, 200, "nothing is left, and nothing is owed");
        assert.equal((await ask(1)).status, 429);
        assert.deepEqual(
          [(await ask(900, "shadow")).status, (await ask(0, "shadow")).status],
          [200, 200],
        );
        const { body: metrics } = await get(service, "/metrics");
        const line = 'tidegate_decisions_total{domain="shop",rule="user",verdict="refused"} 5\n';
        assert.ok(metrics.includes(line), metrics);
      }, { rules });
    });
  }

  test("may bring a limit of its own, and ask for a descriptor without a limit", () =>
    withService(async (service) => {
      const limit = { requestsPerUnit: 1, unit: "MINUTE" };
      const descriptors = [
        descriptor("42", { limit }),
        descriptor("x", {}, "nobody"),
        descriptor("admin"),
        descriptor("43", { hitsAddend: "0" }),
      ];
      const first = await post(service, "/json", { domain: "shop", descriptors });
      const { statuses } = first.body;
      assert.deepEqual(
        statuses.map((status: { readonly limitRemaining?: number }) => status.limitRemaining),
        [undefined, undefined, 4_294_967_295, 3],
      );
      assert.ok(statuses.every(({ code }: { readonly code: string }) => code === "OK"));
      assert.deepEqual(statuses[0].currentLimit, limit);
      const second = await post(service, "/json", { domain: "shop", descriptors });
      assert.equal(second.status, 429);
    }));

  test("that is malformed is a 400", () =>
    withService(async (service) => {
      const bad: unknown[] = [
        "{",
        [],
        { descriptors: [] },
        { domain: "shop" },
        { domain: "shop", descriptors: [{}] },
        { ...call("a"), domain: 7 },
        { ...call("a"), hitsAddend: -1 },
        { ...call("a"), hitsAddend: 2 ** 32 },
        call("b", {}, ""),
        { domain: "shop", descriptors: [{ entries: ["a"] }] },
        call("a", { limit: { unit: "EON" } }),
        call("a", { limit: {} }),
      ];
      for (const body of bad) {
        const { status, headers } = await post(service, "/json", body);
        assert.equal(status, 400, JSON.stringify(body));
        assert.equal(headers.get("content-type"), "application/problem+json");
      }
      assert.equal((await post(service, "/json", { ...call("a"), domain: "x" })).status, 200);
    }));
});

test("an unknown token beside a right one keeps nobody out", () =>
  withService(async (service) => {
    const headers = { "x-tidegate-token": "of-the-client", authorization: "Bearer secret" };
    assert.equal((await post(service, "/v1/consume", asking("a"), headers)).status, 200);
    const other = { "x-tidegate-token": "secret", authorization: "Basic eDp5" };
    assert.equal((await post(service, "/v1/consume", asking("a"), other)).status, 200);
  }, { token: "secret" }));

test("a policy has one name, in fields and bodies, whatever other rules hold", async () => {
  const rules = objectSource({
    domain: "shop",
    rules: [
      { key: "a", name: "first", limits: [{ limit: 2, period: "1h", burst: 2 }] },
      { key: "b", limits: [{ limit: 2, period: "1h", burst: 2 }] },
      {
        key: "c",
        name: "third",
        limits: [{ limit: 1, period: "1h", burst: 1 }, {
          limit: 9,
          period: "1d",
          burst: 9,
          name: "daily",
        }],
      },
    ],
    routes: ["a", "b", "c"].map((key) => ({
      path: `/*${key}*`,
      ignoreCase: false,
      descriptors: [{ [key]: "{path}" }],
    })),
  });
  await withService(async (service) => {
    const ask = (path: string) => get(service, "/check", { "x-original-uri": path });
    const names = async (path: string) =>
      ((await ask(path)).headers.get("ratelimit") ?? "").replaceAll(/;[rt]=\d+/g, "");
    assert.equal(await names("/a"), '"first"');
    assert.equal(await names("/b"), '"b"');
    assert.equal(await names("/abc"), '"first", "b", "third/1-in-3600s", "third/daily"');
    // Two readings of one path are two counters of one policy.
    assert.equal(await names("/a;b"), '"first", "b"');
    const refused = await ask("/abc");
    assert.deepEqual(refused.body["violated-policies"], ["third/1-in-3600s"]);
    await ask("/b");
    assert.deepEqual((await ask("/b")).body["violated-policies"], ["b"]);
  }, { rules });
});

describe("a check for a proxy", () => {
  const check = (
    service: { readonly url: string },
    uri: string,
    headers: Record<string, string> = {},
    query = "",
  ) => get(service, `/check${query}`, { "x-original-uri": uri, ...headers });

  test("turns the request into descriptors, and tells the limit in header fields", () =>
    withService(async (service) => {
      const first = await check(service, "/users/42?a=b");
      assert.equal(first.status, 200);
      assert.match(first.headers.get("ratelimit") ?? "", /^"per-user";r=2;t=\d+$/);
      assert.equal(first.headers.get("ratelimit-policy"), '"per-user";q=3;w=3600');
      await check(service, "/users/42");
      await check(service, "/users/./x/../42");
      const refused = await check(service, "/users/42");
      assert.equal(refused.status, 429);
      assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
      assert.deepEqual(refused.body["violated-policies"], ["per-user"]);
      assert.equal((await check(service, "/users/43")).status, 200);
      assert.equal((await check(service, "/elsewhere")).status, 200);
    }));

  test("matches the rule of its folder, even if dots are percent-encoded twice", () =>
    withService(async (service) => {
      const paths = ["/api/%252e%252e/x", "/api/%252E./x", "/api/a/%25%32%65%252e/../%252e%252e/x"];
      for (const path of paths) {
        const asked = await get(service, "/check?from=nginx", { "x-original-uri": path });
        assert.match(asked.headers.get("ratelimit") ?? "", /r=\d/, path);
      }
    }, {
      rules: oneRule("route", 9, [{ path: "/api/*", descriptors: [{ route: "api" }] }]),
    }));

  test("is about the request that the proxy describes, whatever the client has written", () =>
    withService(async (service) => {
      const fields = (family: string, method: string, uri: string) => ({
        [`x-${family}-method`]: method,
        [`x-${family}-uri`]: uri,
      });
      const told = fields("original", "POST", "/login");
      const forged = fields("forwarded", "GET", "/free");
      const ask = (query: string, headers: Record<string, string>) =>
        get(service, `/check${query}`, { "x-forwarded-for": "203.0.113.7", ...headers });
      const both = await ask("", { ...told, ...forged });
      assert.equal(both.status, 400);
      assert.match(both.body.detail, /from=nginx or \/check\?from=forwarded/);
      for (const left of [1, 0]) {
        const { headers } = await ask("?from=nginx", { ...told, ...forged });
        assert.match(headers.get("ratelimit") ?? "", new RegExp(`r=${left}`));
      }
      assert.equal((await ask("?from=nginx", { ...told, ...forged })).status, 429);
      // The same the other way round: Traefik and Caddy pass on the client's X-Original-*.
      const swapped = {
        ...fields("forwarded", "POST", "/login"),
        ...fields("original", "GET", "/free"),
      };
      assert.equal((await ask("?from=forwarded", swapped)).status, 429);
      assert.equal((await ask("?from=apache", told)).status, 400);
      assert.equal((await ask("", told)).status, 429);
    }));

  test("has no fields where the name of a limit cannot stand in one", () =>
    withService(async (service) => {
      assert.equal((await check(service, "/users/42")).status, 200);
    }, { rules: oneRule("user", 3, SHOP.routes, { name: "gr\u00fc\u00dfe" }) }));

  /** The clients that proxies name, one after the other, each with the status of a login. */
  const CLIENTS:
    readonly (readonly [name: string, ...calls: (readonly [string | undefined, number])[]])[] = [
      [
        "the address that a trusted proxy tells",
        ["203.0.113.7", 200],
        ["6.6.6.6, 203.0.113.7", 200],
        ["7.7.7.7, 203.0.113.7", 429],
        ["203.0.113.8", 200],
      ],
      [
        "the network of an IPv6 client, which has 2^64 addresses",
        ["2001:db8:1:2::1", 200],
        ["[2001:db8:1:2:ffff::2]:80", 200],
        ["2001:DB8:1:2:0:0:0:3", 429],
        ["2001:db8:1:3::1", 200],
        ["::ffff:203.0.113.7", 200],
        ["203.0.113.7", 200],
        ["203.0.113.7", 429],
        ["203.0.113.8", 200],
      ],
      [
        "the proxy itself that tells no client",
        [undefined, 200],
        ["203.0.113.7, unknown", 200],
        [undefined, 429],
      ],
    ];
  for (const [name, ...calls] of CLIENTS) {
    test(`counts by ${name}`, () =>
      withService(async (service) => {
        for (const [address, status] of calls) {
          const headers: Record<string, string> = { "x-original-method": "POST" };
          if (address !== undefined) headers["x-forwarded-for"] = address;
          assert.equal((await check(service, "/login", headers)).status, status, address);
          assert.equal((await check(service, "/login")).status, 200, "another method");
        }
        const { body } = await get(service, "/v1/live");
        const keys = body.keys.map(({ key }: { readonly key: string }) => key);
        const isNetwork = (key: string) => key.includes("2001:db8:1:2::/64");
        assert.equal(keys.some(isNetwork), calls.some(([address]) => address?.includes("2001")));
      }));
  }

  test("counts by the network of as many bits as the service says, or else the rules", async () => {
    const statuses = async (options: Partial<ServeOptions>) => {
      const seen: number[] = [];
      await withService(async (service) => {
        for (const network of ["200", "2ff", "300"]) {
          const headers = { "x-forwarded-for": `2001:db8:1:${network}::1` };
          seen.push((await check(service, "/", headers)).status);
        }
      }, options);
      return seen;
    };
    const rules = (ipv6Prefix?: number) =>
      objectSource({
        domain: "shop",
        ipv6Prefix,
        rules: [{ key: "address", limits: [{ limit: 1, period: "1h", burst: 1 }] }],
        routes: [{ descriptors: [{ address: "{address}" }] }],
      });
    assert.deepEqual(await statuses({ rules: rules() }), [200, 200, 200]);
    assert.deepEqual(await statuses({ rules: rules(), ipv6Prefix: 56 }), [200, 429, 200]);
    assert.deepEqual(await statuses({ rules: rules(48), ipv6Prefix: 56 }), [200, 429, 429]);
    for (const ipv6Prefix of [31, 129, 0.5]) {
      await assert.rejects(statuses({ ipv6Prefix }), /ipv6Prefix must be/);
    }
    await assert.rejects(statuses({ rules: rules(129) }), /ipv6Prefix: expected an integer/);
  });

  test("asks for nothing that the request lacks", () =>
    withService(async (service) => {
      assert.equal((await check(service, "/heavy")).status, 200);
      const refused = await check(service, "/heavy", { "x-user": "42" });
      assert.equal(refused.status, 429);
      assert.equal(refused.headers.get("retry-after"), null, "a cost of 4 is never admitted");
    }));

  test("counts a value that is too long to keep under its hash", () =>
    withService(async (service) => {
      const long = "x".repeat(1_025);
      const statuses = async (uri: string, headers = {}) => {
        const all: number[] = [];
        for (let times = 0; times < 4; times++) {
          all.push((await check(service, uri, headers)).status);
        }
        return all;
      };
      assert.deepEqual(await statuses(`/users/${long}`), [200, 200, 200, 429]);
      assert.deepEqual(await statuses(`/users/${long}y`), [200, 200, 200, 429]);
      assert.deepEqual(await statuses("/heavy", { "x-user": long }), [429, 429, 429, 429]);
      assert.deepEqual(await statuses(`/elsewhere/${long}`), [200, 200, 200, 200]);
    }));

  test("can answer with a status that nginx knows", () =>
    withService(async (service) => {
      const heavy = (query: string) => check(service, "/heavy", { "x-user": "42" }, query);
      assert.equal((await heavy("?status=403")).status, 403);
      assert.equal((await heavy("?status=200")).status, 400);
      assert.equal((await heavy("?domain=other")).status, 404);
    }));
});

test("a store that does not answer is a 503, and is told in the log", async () => {
  const fail = () => Promise.reject(new StoreUnavailableError("the store is down", "no"));
  const down = wrapStore(memoryStore(), {
    call: () => fail,
    run: fail,
    delete: fail,
  }) as AsyncStore;
  const events: Record<string, unknown>[] = [];
  await withService(async (service) => {
    const { status, headers, body } = await post(service, "/v1/consume", asking("a"));
    assert.equal(status, 503);
    assert.equal(headers.get("retry-after"), "1");
    assert.equal(body.title, "Service Unavailable");
    assert.equal((await post(service, "/v1/reset", asking("a"))).status, 503);
  }, { store: down, log: (event) => events.push(event) });
  assert.ok(events.some(({ event, error }) => event === "error" && error === "the store is down"));
});

for (const [onFailure, status] of [[undefined, 503], ["default", 200]] as const) {
  test(`with a rule that waits for a key's limits, a lookup that fails is a ${status}`, () => {
    const away = () => Promise.reject(new Error("the source is away"));
    const rules = oneRule("user", 1, [], { lookup: "wait" }, away);
    return withService(async (service) => {
      assert.equal((await post(service, "/v1/consume", asking("a"))).status, status);
    }, { rules, lookupCache: { onFailure } });
  });
}

test("a service stops gracefully: what is under way is answered", async () => {
  let open: (() => void) | undefined;
  const lookup = () => new Promise<undefined>((resolve) => open = () => resolve(undefined));
  const rules = oneRule("user", 1, [], { lookup: "wait" }, lookup);
  await withService(async (service) => {
    const underWay = post(service, "/v1/consume", asking("a"), { connection: "close" });
    await until(() => open !== undefined);
    const stopped = service.stop(5_000);
    setTimeout(open!, 20);
    assert.equal((await underWay).status, 200);
    await stopped;
    await assert.rejects(get(service, "/healthz"));
  }, { rules });
});

test("a service stops though clients send half a call and no more", async () => {
  const errors: unknown[] = [];
  const hear = (event: Event) => errors.push((event as ErrorEvent).error);
  // An error that nobody catches is told to Deno's scope; its test runner lets it pass.
  const scope = globalThis as Partial<EventTarget>;
  scope.addEventListener?.("error", hear);
  for (const half of ["GET /healthz HTTP/1.1\r\nHost:", HALF_A_BODY]) {
    const service = await serve({ rules: objectSource(SHOP), port: 0 });
    const socket = connect(service.port, "127.0.0.1");
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.on("error", () => {});
    socket.resume();
    await new Promise<void>((resolve) => socket.write(half, () => resolve()));
    // A call is under way once another one, sent after it, was answered.
    await get(service, "/healthz");
    await service.stop(50);
    socket.end();
    await closed;
    await assert.rejects(get(service, "/healthz"));
  }
  scope.removeEventListener?.("error", hear);
  assert.deepEqual(errors, []);
});

test("a service that cannot start leaves nothing behind, and says why", async () => {
  await withService(async (service) => {
    await assert.rejects(withService(() => Promise.resolve(), { port: service.port }));
  });
  await assert.rejects(
    withService(() => Promise.resolve(), { rules: "/nowhere/rules.yaml" }),
    /Cannot load rules from \/nowhere\/rules.yaml/,
  );
  await assert.rejects(withService(() => Promise.resolve(), { threads: 0 }), /threads must be/);
});
