import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, describe, test as anywhere } from "node:test";
import fc from "fast-check";

import * as loader from "@grpc/proto-loader";
import { rateLimitService } from "../../../../adapters/service/envoy/rate_limit_service.ts";
import { readCall } from "../../../../adapters/service/envoy/read_call.ts";
import { REQUEST_BOUNDS } from "../../../../adapters/service/service.ts";
import { fileSource, objectSource } from "../../../../adapters/rules/rules.ts";
import { serve, type Service } from "../../../../adapters/service/service.ts";
import { startProgram } from "../../../support/child_process.ts";
import { runtime } from "../../../support/runtime.ts";
import { fcOptions } from "../../../support/seed.ts";
import { rootPath } from "../../../support/tree.ts";
import { rawGrpc } from "../support/raw_grpc.ts";
import { descriptor as of, get, SHOP, withService } from "../support/running.ts";

// deno-lint-ignore no-explicit-any
type Answer = any;

/** A client on Node, made of the public protocol, which starts with the first question. */
let client: ChildProcess | undefined;
const waiting = new Map<number, (answers: readonly Answer[]) => void>();
let asked = 0;

function startClient(): ChildProcess {
  const script = `${rootPath}tests/adapters/service/support/envoy_client.mjs`;
  const child = spawn(`${rootPath}node_modules/.bin/node`, [script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  createInterface({ input: child.stdout! }).on("line", (line) => {
    const { id, answers } = JSON.parse(line);
    waiting.get(id)!(answers);
    waiting.delete(id);
  });
  return child;
}

after(() => void client?.stdin?.end());

/** Sends calls with the client. */
function ask(
  service: Service,
  calls: readonly unknown[],
  atOnce = 1,
  token = "",
): Promise<readonly Answer[]> {
  client ??= startClient();
  const id = asked++;
  const task = { id, port: service.grpcPort, calls, atOnce, token };
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    client!.stdin!.write(`${JSON.stringify(task)}\n`);
  });
}

const shop = (...descriptors: readonly object[]) => ({ domain: "shop", descriptors });
const user = (value: string, more: object = {}) => ({ ...shop(of(value)), ...more });
const codesOf = ({ statuses }: Answer) => statuses.map(({ code }: Answer) => code);

/** A test of a service with gRPC. On Deno it requires that the service does not start. */
function test(name: string, check: () => Promise<void>): void {
  const start = () => serve({ rules: objectSource(SHOP), port: 0, grpcPort: 0 });
  const isRefused = () =>
    assert.rejects(start, /Cannot serve gRPC on Deno .*: run the service on Node or Bun/);
  anywhere(name, runtime() === "deno" ? isRefused : check);
}

test("gRPC's own health service says whether the server takes calls, and when it stops", async () => {
  const rules = objectSource(SHOP);
  const service = await serve({ rules, port: 0, grpcPort: 0, drainDelay: 1_000 });
  const client = startProgram("node", [
    "tests/adapters/service/support/health_client.mjs",
    String(service.grpcPort),
  ]);
  await client.line(/^SERVING$/);
  await client.line(/^5$/);
  await client.line(/^now SERVING$/);
  const stopped = service.stop(100);
  await client.line(/^now NOT_SERVING$/);
  await stopped;
  assert.equal(await client.ended, 0);
});

const OVER = "OVER_LIMIT";

describe("Envoy's gRPC", () => {
  test("is answered to a client made of the public protocol", () =>
    withService(async (service) => {
      const [first, second, looked, third] = await ask(service, [
        user("42", { hits_addend: 2 }),
        user("42"),
        shop(of("42", { hits_addend: { value: 0 } })),
        user("42"),
      ]);
      assert.equal(first.overall_code, "OK");
      assert.deepEqual(first.statuses[0], {
        code: "OK",
        current_limit: { name: "per-user", requests_per_unit: 3, unit: "HOUR" },
        limit_remaining: 1,
        duration_until_reset: { seconds: first.statuses[0].duration_until_reset.seconds },
      });
      assert.equal(second.overall_code, "OK");
      assert.equal(second.statuses[0].limit_remaining ?? 0, 0);
      assert.equal(looked.overall_code, "OK");
      assert.deepEqual([third.overall_code, third.statuses[0].code], [OVER, OVER]);
      const { body } = await get(service, "/metrics");
      assert.match(body, /route="ShouldRateLimit",status="200"} 4/);
    }, { grpcPort: 0 }));

  test("with limits of its own, unlimited and unknown descriptors, in one call", () =>
    withService(async (service) => {
      const limit = { requests_per_unit: 1, unit: "WEEK" };
      const call = shop(of("42", { limit }), of("admin"), of("knows", {}, "who"));
      const [first, second] = await ask(service, [call, call]);
      assert.deepEqual(codesOf(first), ["OK", "OK", "OK"]);
      assert.equal(first.statuses[0].current_limit.unit, "WEEK");
      assert.equal(first.statuses[1].limit_remaining, 4_294_967_295);
      assert.equal(second.overall_code, OVER);
      assert.deepEqual(codesOf(second), [OVER, "OK", "OK"]);
    }, { grpcPort: 0 }));

  test("gives back the units of negative hits, before other descriptors take any", () =>
    withService(async (service) => {
      const answers = await ask(service, [
        user("42", { hits_addend: 3 }),
        user("42"),
        shop(of("43"), of("42", { hits_addend: { value: 2 }, is_negative_hits: true })),
        user("42", { hits_addend: 2 }),
        user("42"),
      ]);
      const codes = answers.map(({ overall_code: code }) => code);
      assert.deepEqual(codes, ["OK", OVER, "OK", "OK", OVER]);
      const left = answers[2].statuses.map((status: Answer) => status.limit_remaining);
      assert.deepEqual(left, [2, 2]);
    }, { grpcPort: 0 }));

  test("has Envoy add the fields of the limit, if the options say so", async () => {
    const fields: Answer[] = [];
    for (const responseHeaders of [false, true]) {
      await withService(async (service) => {
        const answers = await ask(service, [user("42", { hits_addend: 3 }), user("42")]);
        for (const { response_headers_to_add: list = [] } of answers) {
          fields.push(
            Object.fromEntries(list.map(({ key, value }: Answer) => [key.toLowerCase(), value])),
          );
        }
      }, { grpcPort: 0, responseHeaders });
    }
    const [off, alsoOff, admitted, refused] = fields;
    assert.deepEqual([off, alsoOff], [{}, {}]);
    assert.match(admitted.ratelimit ?? "", /^"per-user";r=0;t=\d+$/);
    assert.equal(admitted["ratelimit-policy"], '"per-user";q=3;w=3600');
    assert.equal(admitted["retry-after"], undefined);
    assert.match(refused["retry-after"] ?? "", /^\d+$/);
  });

  test("lets exactly the limit through when threads share its port and many calls are under way", () =>
    withService(async (service) => {
      const calls = Array.from({ length: 200 }, () => ({
        domain: "basic",
        descriptors: [{ entries: [{ key: "one_per_minute", value: "a" }] }],
      }));
      const asking = [ask(service, calls, 100), ask(service, calls, 100)];
      const minute = () => Math.floor(Date.now() / 60_000);
      const begun = minute();
      const codes = (await Promise.all(asking)).flat().map(({ overall_code: code }) => code);
      const admitted = codes.filter((code) => code === "OK").length;
      // The calls may lie in two minutes.
      assert.ok(admitted >= 1 && admitted <= 1 + minute() - begun, `${admitted} admitted`);
      assert.equal(codes.filter((code) => code === "OVER_LIMIT").length, 400 - admitted);
      const { calls: counted } = await service.figures();
      assert.equal(counted["ShouldRateLimit 200"], 400);
    }, {
      grpcPort: 0,
      threads: 2,
      rules: fileSource(
        `${rootPath}tests/vectors/envoy-config/tests-valid/integration_basic.yaml`,
      ),
    }));

  test("takes units only for callers with the token, if there is one", () =>
    withService(async (service) => {
      const [none] = await ask(service, [user("42")]);
      assert.deepEqual([none.error, none.details], [16, "send the token as metadata"]);
      assert.equal((await ask(service, [user("42")], 1, "wrong"))[0].error, 16);
      const [own] = await ask(service, [user("42")], 1, "secret");
      assert.equal(own.statuses[0].limit_remaining, 2);
    }, { grpcPort: 0, token: "secret" }));

  test("that is malformed is INVALID_ARGUMENT", () =>
    withService(async (service) => {
      const bad = [
        user("a", { domain: "" }),
        shop(),
        shop({ entries: [] }),
        shop(...Array(40).fill(of("knows", {}, "who"))),
        shop(of("a", { hits_addend: { value: "9007199254740993" } })),
      ];
      // Another program may write more than the protocol's 32 bits.
      const limit = { requestsPerUnit: 2 ** 60, unit: "MINUTE" };
      assert.throws(() => readCall(shop(of("a", { limit })), REQUEST_BOUNDS), {
        detail: "requestsPerUnit must be an integer from 0 to 4294967295",
      });
      for (const { error, details } of await ask(service, bad)) {
        assert.equal(error, 3, details);
      }
    }, { grpcPort: 0 }));

  test("with a long value beside it, or a malformed descriptor, a limit holds", () =>
    withService(async (service) => {
      const path = (length: number) => of("/" + "a".repeat(length), {}, "path");
      const beside = [path(1_025), path(5_000), { entries: [] }, of("", {}, ""), {
        entries: Array(17).fill({ key: "a", value: "b" }),
      }, of("a", { limit: { requests_per_unit: 1, unit: "UNKNOWN" } }, "path")];
      const calls = beside.flatMap((each) => [shop(of("evil"), each), shop(each, of("evil"))]);
      const many = shop(...Array(40).fill(of("evil")));
      const answers = await ask(service, [...calls, many, ...calls]);
      const over = answers.map(({ overall_code: code, error }) => code ?? error);
      // Three pass, or would if they were well formed.
      assert.deepEqual(over.slice(0, 3), ["OK", "OK", "OK"]);
      assert.deepEqual(over.slice(3), Array(answers.length - 3).fill(OVER));
      const statuses = answers[5].statuses.map(({ code }: Answer) => code);
      assert.deepEqual(statuses, ["OK", OVER]);
    }, { grpcPort: 0 }));

  test("counts a long value by itself, and matches it as it is", () =>
    withService(async (service) => {
      const long = (end: string) => shop(of(`/api/${"a".repeat(2_000)}${end}`, {}, "path"));
      const answers = await ask(service, [
        long("x"),
        long("x"),
        long("y"),
        long("/open"),
        long("/open"),
      ]);
      const codes = answers.map(({ overall_code: code }) => code);
      assert.deepEqual(codes, ["OK", OVER, "OK", "OK", "OK"]);
      const keys = (await service.figures()).keys;
      assert.ok(JSON.stringify(keys).length < 4_000);
    }, {
      grpcPort: 0,
      rules: objectSource({
        domain: "shop",
        rules: [
          { key: "path", value: "/api/*/open", unlimited: true },
          { key: "path", value: "/api/*", limits: [{ limit: 1, period: "1h", burst: 1 }] },
        ],
      }),
    }));

  test("counts bytes that are no UTF-8", () =>
    withService(async (service) => {
      const path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
      const text = (field: number, bytes: readonly number[]) => [field, bytes.length, ...bytes];
      const ascii = (word: string) => [...word].map((sign) => sign.charCodeAt(0));
      const entry = [...text(0x0a, ascii("user")), ...text(0x12, [0xff, 0xfe])];
      const message = [...text(0x0a, ascii("shop")), ...text(0x12, text(0x0a, entry))];
      const url = `http://127.0.0.1:${service.grpcPort}`;
      for (let times = 0; times < 4; times++) {
        assert.equal((await rawGrpc(url, path, message)).status, 0);
      }
      const { rules } = await service.figures();
      const { admitted, refused } = rules.find(({ rule }) => rule === "per-user")!;
      assert.deepEqual([admitted, refused], [3, 1]);
    }, { grpcPort: 0 }));

  test("bytes that are not a message are INVALID_ARGUMENT, and the service goes on", () =>
    withService(async (service) => {
      const path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
      const message = [0x12, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3];
      const { status } = await rawGrpc(`http://127.0.0.1:${service.grpcPort}`, path, message);
      assert.equal(status, 3);
      assert.equal((await ask(service, [user("42")]))[0].overall_code, "OK");
    }, { grpcPort: 0 }));
});

describe("reading a message", () => {
  const { read } = rateLimitService(loader);

  anywhere("ends, whatever the bytes, with a call or a clear error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          const call = read(Buffer.from(bytes)) as { readonly descriptors: unknown };
          assert.ok(Array.isArray(call.descriptors));
        } catch (error) {
          assert.ok(error instanceof RangeError || error instanceof TypeError, String(error));
        }
      }),
      fcOptions({ numRuns: 2_000 }),
    );
  });

  anywhere("takes no text that is no UTF-8, and leaves a replacement character alone", () => {
    const domain = (...bytes: number[]) => Buffer.from([0x0a, bytes.length, ...bytes]);
    assert.throws(() => read(domain(0xff)), TypeError);
    const { domain: name } = read(domain(0xef, 0xbf, 0xbd)) as { readonly domain: unknown };
    assert.equal(name, "\ufffd");
  });
});
