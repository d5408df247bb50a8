import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { advise, type LogEntry, readTrace } from "../../../../adapters/replay/replay.ts";
import type { PartAdvice } from "../../../../adapters/replay/advise/advice.ts";

const START = Date.UTC(2026, 2, 2);

/** So many clients, each with as many requests at once, a second and a half after the one before. */
function crowd(name: string, clients: number, requests: number): LogEntry[] {
  return Array.from({ length: clients * requests }, (_, row) => ({
    at: START + Math.floor(row / requests) * 1_500,
    key: `${name} ${Math.floor(row / requests)}`,
    cost: 1,
  }));
}

async function adviceOn(
  entries: readonly LogEntry[],
  ordinary: readonly string[] = [],
): Promise<PartAdvice> {
  return (await advise(entries, { ordinary })).parts[0]!;
}

describe("the tight limit", () => {
  const heavy = "heavy 0";

  test("refuses nobody of fewer than a thousand", async () => {
    const log = [...crowd("one", 998, 1), ...crowd("heavy", 1, 9)];
    const { tight, tightRefuses } = await adviceOn(log, [heavy]);
    assert.deepEqual([tight.burst, tightRefuses], [9, 0]);
  });

  test("may refuse one client of a thousand", async () => {
    const log = [...crowd("few", 999, 5), ...crowd("heavy", 1, 9)];
    const { tight, tightRefuses, heaviest } = await adviceOn(log, [heavy]);
    assert.deepEqual([tight.burst, tightRefuses], [5, 1]);
    const [first] = heaviest;
    assert.deepEqual([first!.key, first!.refused], [heavy, 0]);
    assert.ok(first!.refusedByTight > 0);
  });
});

test("ten of the heaviest clients are shown", async () => {
  const { heaviest } = await adviceOn(crowd("client", 30, 2));
  assert.equal(heaviest.length, 10);
});

test("clients that are set aside are compared with the busiest ordinary client, not with each other", async () => {
  const log = [...crowd("one", 30, 10), ...crowd("large", 1, 800), ...crowd("small", 1, 400)];
  const { odd } = await adviceOn(log);
  assert.deepEqual(odd.map(({ key, times }) => [key, times]), [["large 0", 80], ["small 0", 40]]);
});

test("a second group is ten or more clients that need two and a half times as much as others", async () => {
  const groupOf = async (need: number, others: number) =>
    (await adviceOn([...crowd("group", 12, need), ...crowd("one", 20, others)])).secondGroup;
  assert.deepEqual(await Promise.all([groupOf(10, 4), groupOf(10, 5), groupOf(9, 1)]), [12, 0, 0]);
});

test("times in whole seconds are spread, and known to be inexact", async () => {
  const lines = crowd("c", 30, 3).map(({ at, key }) =>
    `${new Date(at - at % 1_000).toISOString().slice(0, 19)}Z,${key}\n`
  );
  const trace = await readTrace(`time,client\n${lines.join("")}`);
  assert.equal((await advise(trace)).grain, 1_000);
});

describe("requests that log in", () => {
  const line = (at: number, client: string, path: string) =>
    `${new Date(at).toISOString()},${client},POST,${path}\n`;
  const traceOf = (lines: readonly string[]) =>
    readTrace(`time,client,method,url\n${lines.join("")}`, { marks: true });

  test("have advice of their own from twenty on", async () => {
    for (const [requests, parts] of [[19, ["all"]], [20, ["all", "writes", "logins"]]] as const) {
      const log = crowd("c", requests, 1).map(({ at, key }) => line(at, key, "/login"));
      const advice = await advise(await traceOf(log));
      assert.deepEqual(advice.parts.map(({ part }) => part), parts);
    }
  });

  test("are granted three times at once, though nobody needed them", async () => {
    const log = crowd("c", 30, 1).map(({ at, key }) => line(at, key, "/login"));
    const { parts } = await advise(await traceOf(log));
    assert.deepEqual(parts.map(({ tight }) => tight.burst), [1, 1, 3]);
    // A request that logs in counts in all three.
    assert.deepEqual(parts.map(({ limits }) => limits[0]!.burst), [6, 6, 6]);
  });

  test("are listed by fifty of their paths", async () => {
    const log = crowd("c", 60, 1).map(({ at, key }, row) => line(at, key, `/login/${row}`));
    const { log: facts } = await traceOf(log);
    assert.equal(facts!.seen!.logins.length, 50);
  });
});
