import assert from "node:assert/strict";
import { describe, test } from "node:test";

import fc from "fast-check";

import { lineTest, readConditions } from "../../../../adapters/replay/log/conditions.ts";
import { readTrace, replay, replayTable } from "../../../../adapters/replay/replay.ts";
import { gcra } from "../../../../mod.ts";
import { fcOptions } from "../../../support/seed.ts";

const second = (at: number) => `22/Dec/2016:22:32:${10 + at} +0000`;
const COMMON = [
  ["192.0.2.1", "GET /api/users?page=2 HTTP/1.1", 200],
  ["192.0.2.1", "POST /login HTTP/1.1", 401],
  ["192.0.2.2", "POST /api/users HTTP/1.1", 201],
  ["192.0.2.3", "GET https://shop.example/api/carts HTTP/1.1", 404],
].map(([host, request, status], at) => `${host} - - [${second(at)}] "${request}" ${status} 12\n`)
  .join("");
const JSON_LINES = [
  { ts: 1, ip: "a", request: { method: "GET", uri: "/api/users?x" }, status: 200 },
  { ts: 2, ip: "b", request: { method: "POST", uri: "/login" }, status: 401 },
].map((line) => JSON.stringify(line)).join("\n");

/** The clients that are left, and how many lines are not. */
async function left(text: string, ...where: string[]): Promise<[readonly string[], number]> {
  const { clients, log } = await readTrace(text, { where });
  return [clients, log!.leftOut];
}

describe("where", () => {
  const kept: [where: string[], hosts: number[], leftOut: number][] = [
    [["path=/api/*"], [1, 2, 3], 1],
    [["path=/api/users"], [1, 2], 2],
    [["method=POST"], [1, 2], 2],
    [["status=401"], [1], 3],
    [["status=4*"], [1, 3], 2],
    [["status=401", "status=404"], [1, 3], 2],
    [["status!=401", "status!=404"], [1, 2], 2],
    [["method=POST", "path=/api/*"], [2], 3],
    [["path!=/api/*"], [1], 3],
    [["remote_addr=192.0.2.3"], [3], 3],
    [["path=*s*s"], [1, 2], 2],
  ];
  for (const [where, hosts, leftOut] of kept) {
    test(`${where.join(" and ")} of the Common Log Format`, async () => {
      assert.deepEqual(await left(COMMON, ...where), [
        hosts.map((host) => `192.0.2.${host}`),
        leftOut,
      ]);
    });
  }

  test("finds the parts of a request in objects and in columns", async () => {
    assert.deepEqual(await left(JSON_LINES, "path=/api/*"), [["a"], 1]);
    assert.deepEqual(await left(JSON_LINES, "method=POST", "status=401"), [["b"], 1]);
    const csv = "time,client,url,response\n1,a,/api/x?y,200\n2,b,/,401\n";
    assert.deepEqual(await left(csv, "path=/api/*"), [["a"], 1]);
    assert.deepEqual(await left(csv, "status=401"), [["b"], 1]);
    const words = "time,client,status\n1,a,OK\n2,b,failed\n";
    assert.deepEqual(await left(words, "status=failed"), [["b"], 1]);
  });

  test("is said in the report, and needs lines that remain", async () => {
    const candidates = [{ algorithm: gcra({ limit: 9, period: "1m", burst: 9 }) }];
    const trace = await readTrace(COMMON, { where: ["path=/api/*", "method=GET"] });
    assert.match(
      replayTable(await replay(trace, candidates)),
      /^Only lines with path=\/api\/\*, method=GET count: 2 of 4 lines were left out\.$/m,
    );
    await assert.rejects(
      replay(await readTrace(COMMON, { where: "path=/no" }), candidates),
      /^RangeError: Cannot replay a log as a line must have path=\/no: none of 4 lines has$/,
    );
  });

  test("rejects text other than a condition, and unknown columns", async () => {
    for (const where of ["path", "=1", "!=1", ""]) {
      await assert.rejects(readTrace(COMMON, { where }), /where must be like path=\/api\/\*/);
    }
    const many = Array.from({ length: 33 }, () => "path=/");
    await assert.rejects(readTrace(COMMON, { where: many }), /at most 32 conditions/);
    await assert.rejects(
      readTrace(COMMON, { where: "country=NL" }),
      /as where must name one of its columns: current value is "country"/,
    );
  });

  test("stars stand for any text", () => {
    const part = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 3 });
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 4 }),
        fc.string({ unit: fc.constantFrom("a", "b", "/") }),
        (parts, text) => {
          const [condition] = readConditions(`column=${parts.join("*")}`);
          const field = { name: "column", index: 0, part: "whole" as const };
          const test = lineTest([{ ...condition!, field }], () => text);
          assert.equal(test(), new RegExp(`^${parts.join(".*")}$`).test(text));
        },
      ),
      fcOptions(),
    );
  });
});
