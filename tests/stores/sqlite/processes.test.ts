import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { reportOf } from "../../../.ci/report_of.mjs";
import type { Report } from "../../support/drivers/contend.ts";
import { inFolder } from "../../support/in_folder.ts";
import { upTo } from "../../support/seed.ts";

const CONTENDER = new URL("../../support/sqlite/contender.ts", import.meta.url);
const PROCESSES = 4;
const LIMIT = 100;

test("4 processes on one file are admitted exactly as often as the limits say, by calls and by turns", () =>
  inFolder(async (folder) => {
    const args = [join(folder, "limits.db"), String(LIMIT), String(PROCESSES)];
    const reports: Report[][] = await Promise.all(
      upTo(PROCESSES).map(() => reportOf(CONTENDER, args)),
    );
    for (const way of [0, 1]) {
      const sum = (name: "one" | "many" | "pairs") =>
        reports.reduce((total, report) => total + report[way]![name], 0);
      assert.deepEqual([sum("one"), sum("many"), sum("pairs")], [LIMIT, 20 * LIMIT, LIMIT]);
    }
  }));
