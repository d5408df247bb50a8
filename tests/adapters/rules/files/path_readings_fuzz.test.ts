/*
 * Whatever a router hands to the handler of a limited route is charged, and to the counter of the part
 * of the path that the handler was given: fuzzed targets go to real routers over sockets, and to the
 * routes of a rule file.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { readRules } from "../../../../adapters/rules/rules.ts";
import { pipelined } from "../../../support/pipelined.ts";
import { fcOptions } from "../../../support/seed.ts";
import { ROUTERS } from "../support/node_routers.ts";
import { targets } from "../support/routed_targets.ts";

/** Routes that limit by a part of the path, and routes that limit as a whole. */
const part = [["search", "/search/:part"], ["users", "/users/:part"], ["shops", "/shops/:part/all"]]
  .map(([route, path]) => ({
    path,
    ignoreCase: true,
    descriptors: [{ route, part: "{path.part}" }],
  }));
const whole = [["login", "/login"], ["files", "/files/*"]]
  .map(([route, path]) => ({ path, ignoreCase: true, descriptors: [{ route }] }));
const limits = [{ limit: 1, period: "1h", burst: 1 }];
const file = {
  domain: "shop",
  rules: [{ key: "route", limits, rules: [{ key: "part", limits }] }],
  routes: [...part, ...whole],
};

/** The routes of the rules, as `route=search part=x`. */
function chargedBy(): (target: string) => readonly string[] | undefined {
  const { rules, problems } = readRules(
    [{ name: "rules.json", text: JSON.stringify(file) }],
    undefined,
  );
  assert.deepEqual(problems, []);
  const routes = rules!.routes.get("shop")!;
  return (path) =>
    routes({ method: "GET", path, address: undefined, header: () => undefined })
      ?.map(({ entries }) => entries.map((entry) => entry.join("=")).join(" "));
}

/** A part with all its percent codes decoded, however often, in lower case: routers differ in it. */
function plain(part: string): string {
  let text = part;
  for (let before = ""; before !== text;) {
    before = text;
    const bytes = Buffer.from(text).toString("latin1")
      .replaceAll(/%([\da-f]{2})/gi, (_all, code) => String.fromCharCode(parseInt(code, 16)));
    text = Buffer.from(bytes, "latin1").toString("utf8");
  }
  return text.toLowerCase();
}

/** Targets for each router. */
const COUNT = 1_200;

describe("a target that reaches the handler of a limited route is charged", () => {
  const charged = chargedBy();
  const isCharged = (target: string, answer: string) => {
    const [route, given] = JSON.parse(answer) as [string, string?];
    const all = charged(target);
    if (all === undefined) return true;
    if (given === undefined) return all.includes(`route=${route}`);
    const part = given === "" ? "/" : given;
    const start = `route=${route} part=`;
    return all.some((each) =>
      each.startsWith(start) && plain(each.slice(start.length)) === plain(part)
    );
  };
  for (const [name, start] of Object.entries(ROUTERS)) {
    test(`by ${name}`, async () => {
      const { numRuns, seed } = fcOptions({ numRuns: COUNT });
      const list = fc.sample(targets, { numRuns, seed });
      const server = await start();
      const answers = await pipelined(server.port, list).finally(server.close);
      const hits = list.flatMap((target, index) =>
        answers[index]?.status === 200 ? [[target, answers[index]!.body] as const] : []
      );
      assert.ok(hits.length > numRuns / 20, `${hits.length} of ${numRuns} reached a handler`);
      const passed = hits.filter(([target, answer]) => !isCharged(target, answer));
      assert.deepEqual(passed.slice(0, 20), [], `${passed.length} of ${hits.length} not charged`);
    });
  }
});
