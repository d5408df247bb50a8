import assert from "node:assert/strict";
import { test } from "node:test";

import { readTime } from "../../../../adapters/replay/log/read_time.ts";

const NOON = Date.UTC(2016, 11, 22, 12);

const TIMES: Readonly<Record<string, number>> = {
  "22/Dec/2016:12:00:00 +0000": NOON,
  "22/Dec/2016:15:00:00 +0300": NOON,
  "22/Dec/2016:08:30:00 -0330": NOON,
  "22/Dec/2016:17:30:00.250 +0530": NOON + 250,
  "2016-12-22T12:00:00Z": NOON,
  "2016-12-22 12:00:00,2509": NOON + 250,
  "2016-12-22T17:30:00+05:30": NOON,
  "2016-12-22T08:30:00.5-03:30": NOON + 500,
  "2016-12-22T09:00:00-03": NOON,
  "2016/12/22 12:00:00": NOON,
  "1482408000": NOON,
  "1482408000.250": NOON + 250,
  "1482408000250": NOON + 250,
  "1482408000250999": NOON + 250,
  "1482408000250400000": NOON + 250,
  "29:23:53:25": Date.UTC(1995, 7, 30, 3, 53, 25),
  "22/Dec/2016:12:00:00": NOON,
  "22/Dec/2016:12:00:00 +0300": NOON - 10_800_000,
  "22/Dec/2016:12:00:00.2500000000000000000": NOON + 250,
  "22/Dec/2016:12:00:00.2500000000000000000 +0300": NOON - 10_799_750,
  "22/Foo/2016:12:00:00 +0000": -1,
  "2016-13-22T12:00:00Z": -1,
  "-": -1,
  "": -1,
};

function timeOf(text: string): number {
  const bytes = new TextEncoder().encode(`"${text}"`);
  return readTime(bytes, 1, bytes.length - 1);
}

for (const [text, at] of Object.entries(TIMES)) {
  test(`the time ${JSON.stringify(text)} of a log, after any other`, () => {
    for (const before of Object.keys(TIMES)) {
      timeOf(before);
      assert.equal(timeOf(text), at, before);
    }
  });
}
