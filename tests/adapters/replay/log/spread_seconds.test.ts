import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { readTrace, replay, type Trace } from "../../../../adapters/replay/replay.ts";
import { type Algorithm, fixedWindow, gcra } from "../../../../mod.ts";

const START = Date.UTC(2026, 10, 20, 10);

/** Four requests a second of one client, for a minute. Their times have that many characters. */
function steadyLog(length: number): string {
  const lines = Array.from({ length: 240 }, (_, index) => {
    const time = new Date(START + index * 250).toISOString().slice(0, length).replace("T", " ");
    return `${time},192.0.2.1`;
  });
  return ["time,client", ...lines].join("\n");
}

async function refused(text: string, algorithm: Algorithm): Promise<number> {
  const { candidates } = await replay(await readTrace(text), [{ algorithm }]);
  return candidates[0]!.denied;
}

describe("a log of whole seconds", () => {
  const four = gcra({ limit: 4, period: "1s", burst: 1 });

  test("refuses a steady client no oftener than one of milliseconds", async () => {
    assert.equal(await refused(steadyLog(23), four), 0);
    assert.equal(await refused(steadyLog(19), four), 0);
    const { log, end } = await readTrace(steadyLog(19));
    assert.deepEqual([log?.resolution, end], [1_000, START + 59_750]);
    assert.equal((await readTrace(steadyLog(23))).log?.resolution, 1);
  });

  test("says how many would be refused if all of a second came at once", async () => {
    const { candidates } = await replay(await readTrace(steadyLog(19)), [
      { algorithm: four },
      { algorithm: fixedWindow({ limit: 10, period: "1m" }) },
    ]);
    assert.deepEqual(candidates.map(({ denied, deniedAtOnce }) => [denied, deniedAtOnce]), [
      ...[[0, 180], [230, undefined]],
    ]);
    const exact = await replay(await readTrace(steadyLog(23)), [{ algorithm: four }]);
    assert.equal(exact.candidates[0]!.deniedAtOnce, undefined);
  });

  test("keeps requests that stand together in a busy second close", async () => {
    // One client's ten lines among a hundred: it came within a tenth of the second.
    const lines = Array.from({ length: 100 }, (_, index) => {
      const client = index >= 40 && index < 50 ? "192.0.2.1" : `10.0.0.${index}`;
      return `${client} - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1`;
    });
    const times = arrivals(await readTrace(lines.join("\n")));
    assert.deepEqual(times.slice(40, 50).map((at) => at - START), [
      ...[400, 410, 420, 430, 440, 450, 460, 470, 480, 490],
    ]);
  });

  test("spreads a second that lines come back to, and the seconds of each log", async () => {
    const line = (second: number, client: string) => `2026-11-20 10:00:0${second},${client}\n`;
    const log = "time,client\n" + line(1, "a") + line(2, "b") + line(1, "c") + line(2, "d");
    const named = (name: string) => ({ name, log });
    const trace = await readTrace([named("one"), named("two")]);
    const times = arrivals(trace).map((at) => at - START);
    assert.deepEqual(times, [1_000, 2_000, 1_500, 2_500, 1_000, 2_000, 1_500, 2_500]);
  });

  test("with a time of milliseconds in it stays as it is", async () => {
    const log = "time,client\n1700000000,a\n1700000000,b\n1700000000.250,c\n";
    const trace = await readTrace(log);
    assert.deepEqual(arrivals(trace).map((at) => at % 1_000), [0, 0, 250]);
    assert.equal(trace.log?.resolution, 1);
  });
});

/** The times of requests, in the order in which they came. */
function arrivals({ at, order }: Trace): readonly number[] {
  return [...at.keys()].sort((one, other) => order[one]! - order[other]!).map((row) => at[row]!);
}
