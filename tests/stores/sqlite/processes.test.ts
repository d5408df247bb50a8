import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { reportOf } from "../../../.ci/report_of.mjs";
import { inFolder } from "../../support/in_folder.ts";
import { PAIRS, PER_KEY, TAKEN } from "../../support/sqlite/contest.ts";
import type { Report } from "../../support/sqlite/contender.ts";

const CONTENDER = new URL("../../support/sqlite/contender.ts", import.meta.url);
const PROCESSES = 4;

test("4 processes on one file are admitted exactly as often as the limits say", () =>
  inFolder(async (folder) => {
    const path = join(folder, "limits.db");
    const reports: Report[] = await Promise.all(
      Array.from(
        { length: PROCESSES },
        (_, place) => reportOf(CONTENDER, [path, String(place), String(PROCESSES)]),
      ),
    );
    const sum = (of: (report: Report) => number) =>
      reports.reduce((total, report) => total + of(report), 0);
    assert.equal(sum(({ one }) => one), TAKEN, "one key");
    assert.equal(sum(({ turn }) => turn), TAKEN, "one key, a transaction a turn");
    const perKey = reports[0]!.many.map((_, key) => sum(({ many }) => many[key]!));
    assert.deepEqual(perKey, perKey.map(() => PER_KEY), "many keys");
    assert.equal(sum(({ pairs }) => pairs), PAIRS, "two keys in both orders");
  }));
