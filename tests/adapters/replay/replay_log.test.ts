import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  advise,
  type CandidateReport,
  type LogEntry,
  type LogSource,
  readTrace,
  replay,
} from "../../../adapters/replay/replay.ts";
import { type Algorithm, fixedWindow, gcra, leakyQueue, slidingLog } from "../../../mod.ts";

const every = (seconds: readonly number[], key = "a", cost = 1): LogEntry[] =>
  seconds.map((second) => ({ at: second * 1_000, key, cost }));

describe("replay", () => {
  const lockOuts: [what: string, algorithm: Algorithm, log: LogEntry[], milliseconds: number][] = [
    [
      "lasts from a refusal to the next admission",
      fixedWindow({ limit: 1, period: "10s" }),
      every([0, 2, 5, 10]),
      8_000,
    ],
    [
      "ends when the client could come again, though it stays away",
      fixedWindow({ limit: 1, period: "10s" }),
      every([0, 4, 100]),
      6_000,
    ],
    [
      "is over where the next refusal is of another matter",
      gcra({ limit: 2, period: "10s", burst: 2 }),
      [...every([0], "a", 2), ...every([1]), ...every([6], "a", 2), ...every([7])],
      4_000,
    ],
    [
      "never ends for a cost above the capacity",
      gcra({ limit: 2, period: "10s", burst: 2 }),
      every([0], "a", 3),
      Infinity,
    ],
  ];
  for (const [what, algorithm, log, milliseconds] of lockOuts) {
    test(`a lock-out ${what}`, async () => {
      const { candidates } = await replay(log, [{ algorithm }]);
      assert.deepEqual(candidates[0]!.longestLockOut, { key: "a", milliseconds });
    });
  }

  test("counts the requests that would have waited", async () => {
    const queue = leakyQueue({ limit: 1, period: "1s", queue: 2 });
    const { candidates } = await replay(every([0, 0, 0, 0]), [{ algorithm: queue }]);
    const { denied, delayed, delay } = candidates[0]!;
    assert.deepEqual([denied, delayed, delay], [1, 2, 3_000]);
  });

  test("sorts entries that came out of order, and notes it", async () => {
    const { backSteps, start, end, candidates } = await replay(every([5, 3, 6, 3]), [
      { algorithm: slidingLog({ limit: 1, period: "2s" }) },
    ]);
    const [{ denied, timeline }] = candidates as [CandidateReport];
    assert.deepEqual([backSteps, start, end, denied], [2, 3_000, 6_000, 2]);
    assert.deepEqual([timeline.allowed, timeline.denied], [[1, 0, 1, 0], [1, 0, 0, 1]]);
  });

  test("keeps to its bound on clients, and says whom it left out", async () => {
    const log = ["a", "b", "c", "a", "c"].flatMap((key) => every([1], key));
    const report = await replay(log, [{ algorithm: gcra({ limit: 1, period: "1m", burst: 1 }) }], {
      maxClients: 2,
    });
    const { clients, untracked, candidates } = report;
    assert.deepEqual([clients, untracked, candidates[0]!.denied], [2, 2, 1]);
  });

  test("reports on the clients refused most, then on the busiest", async () => {
    const at = { a: [0], b: [0, 0], c: [0, 9, 18], d: [0, 0, 0] };
    const log = Object.entries(at).flatMap(([key, seconds]) => every(seconds, key));
    const algorithm = gcra({ limit: 1, period: "1s", burst: 1 });
    const { candidates } = await replay(log, [{ algorithm }], { topClients: 3 });
    assert.deepEqual(candidates[0]!.clients.map(({ key }) => key), ["d", "b", "c"]);
  });

  test("keeps to its bound on bins, however long the log is", async () => {
    const log = Array.from({ length: 1_000 }, (_, i) => ({ at: i * 977_000, key: "a", cost: 1 }));
    const { candidates } = await replay(log, [{
      algorithm: gcra({ limit: 1, period: "1s", burst: 1 }),
    }], {
      bins: 50,
    });
    const { allowed, width } = candidates[0]!.timeline;
    assert.ok(allowed.length <= 50 && width * 50 >= 999 * 977_000);
    assert.equal(allowed.reduce((sum, units) => sum + units), 1_000);
  });

  test("refuses wrong candidates and bounds", async () => {
    const algorithm = gcra({ limit: 1, period: "1s", burst: 1 });
    await assert.rejects(replay([], []), TypeError);
    await assert.rejects(replay([], [{ algorithm: {} as never }]), TypeError);
    await assert.rejects(replay([], Array(65).fill({ algorithm })), RangeError);
    await assert.rejects(replay([], [{ algorithm }], { maxClients: 0 }), RangeError);
  });
});

describe("a log, wherever it comes from,", () => {
  const readers: [action: string, read: (log: LogSource) => Promise<unknown>][] = [
    [
      "replay a log",
      (log) => replay(log, [{ algorithm: gcra({ limit: 1, period: "1m", burst: 1 }) }]),
    ],
    ["advise on a log", (log) => advise(log)],
  ];
  for (const [action, read] of readers) {
    test(`${action}: is read once`, async () => {
      let opened = 0;
      async function* entries() {
        opened++;
        yield* every([1, 2, 3]);
      }
      const expected = await read(every([1, 2, 3]));
      for (const once of [entries(), every([1, 2, 3]).values(), entries, () => entries()]) {
        assert.deepEqual(await read(once), expected);
      }
      assert.equal(opened, 3);
    });

    test(`${action}: must be a log`, async () => {
      for (const log of [undefined, "log", 5, {}]) {
        await assert.rejects(read(log as never), {
          name: "TypeError",
          message: new RegExp(
            `^Cannot ${action} as the log must be a trace, entries, or a function that opens them: `,
          ),
        });
      }
      await assert.rejects(read([{ at: -1, key: "a", cost: 1 }]), RangeError);
      await assert.rejects(read([{ at: 1, key: "a", cost: 0 }]), RangeError);
    });

    test(`${action}: must have requests`, async () => {
      for (const log of [[], () => [], await readTrace("")]) {
        await assert.rejects(read(log), {
          name: "RangeError",
          message:
            `Cannot ${action} as the log must contain at least one request: current value is 0`,
        });
      }
    });
  }
});
