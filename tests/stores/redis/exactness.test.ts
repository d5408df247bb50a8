import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";

import { reportOf } from "../../../.ci/report_of.mjs";
import { contested, CONTESTED_LIMIT } from "../../support/redis/contested.ts";
import type { Report } from "../../support/redis/contender.ts";
import { runtime } from "../../support/runtime.ts";
import { withRedis } from "../../support/redis/with_redis.ts";

const CONTENDER = new URL("../../support/redis/contender.ts", import.meta.url);

/** The calls of each process: 4 processes together make a fifth more calls than the limit admits. */
const OFFERED = CONTESTED_LIMIT * 0.3;

/** Each runtime tries one mode; the long form tries all of them on each. */
const EACH = { node: "watch", deno: "cas", bun: "script" } as const;
const MODES = process.env["TIDEGATE_LONG"] === "1" ? Object.values(EACH) : [EACH[runtime()]];

withRedis("4 processes on one key", (redis) => {
  test("are admitted exactly as often as the limit says", async () => {
    for (const commit of MODES) {
      const args = [redis().url, commit, String(OFFERED), "4"];
      const reports: Report[] = await Promise.all(
        Array.from({ length: 4 }, () => reportOf(CONTENDER, args)),
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
