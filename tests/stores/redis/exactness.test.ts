import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";

import { reportOf } from "../../../.ci/report_of.mjs";
import { contested, CONTESTED_LIMIT } from "../../support/redis/contested.ts";
import type { Report } from "../../support/redis/contender.ts";
import { runtime } from "../../support/runtime.ts";
import { withRedis } from "../../support/redis/with_redis.ts";

const CONTENDER = new URL("../../support/redis/contender.ts", import.meta.url);

const PROCESSES = 3;
/** The calls of each process: together they make a fifth more calls than the limit admits. */
const OFFERED = CONTESTED_LIMIT * 1.2 / PROCESSES;

/** Each runtime tries one mode; the long form tries all of them on each. */
const EACH = { node: "watch", deno: "cas", bun: "script" } as const;
const MODES = process.env["TIDEGATE_LONG"] === "1" ? Object.values(EACH) : [EACH[runtime()]];

withRedis(`${PROCESSES} processes on one key`, (redis) => {
  test("are admitted exactly as often as the limit says", async () => {
    for (const commit of MODES) {
      const args = [redis().url, commit, String(OFFERED), String(PROCESSES)];
      const reports: Report[] = await Promise.all(
        Array.from({ length: PROCESSES }, () => reportOf(CONTENDER, args)),
      );
      const sums = Object.keys(contested()).map((name) => [
        name,
        reports.reduce((sum, { admitted }) => sum + admitted[name]!, 0),
      ]);
      const exact = Object.keys(contested()).map((name) => [name, CONTESTED_LIMIT]);
      assert.deepEqual(sums, exact);
      const conflicts = reports.reduce((sum, report) => sum + report.conflicts, 0);
      assert.ok(conflicts > 0, `no two processes ever met on the key, by ${commit}`);
    }
  });
});
