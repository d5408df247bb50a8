import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { ruleEngine, type Verdict } from "../../../../adapters/rules/rules.ts";
import { figures } from "../../../../adapters/service/metrics/figures.ts";
import {
  addFigures,
  type FiguresSnapshot,
} from "../../../../adapters/service/metrics/figures_snapshot.ts";
import { LATENCY_BUCKETS } from "../../../../adapters/service/metrics/histogram.ts";
import { history } from "../../../../adapters/service/metrics/history.ts";
import { liveDocument } from "../../../../adapters/service/metrics/live_document.ts";
import { memoryStore } from "../../../../stores/memory/memory_store.ts";
import { SHOP } from "../support/running.ts";

const MINUTE = 60_000;
const START = 1e6 * 60 * MINUTE;

/** A thread that decides and counts, on the clock of the test. */
function thread(time: { now: number }) {
  const counted = figures(undefined, () => time.now);
  const engine = ruleEngine({
    rules: SHOP,
    store: memoryStore(),
    clock: () => time.now,
    onVerdict: counted.verdict,
  });
  function ask(key: string, value: string, times = 1): void {
    const descriptors = [{ entries: [[key, value]] }] as const;
    for (let turn = 0; turn < times; turn++) void engine.consume({ domain: "shop", descriptors });
  }
  return { ...counted, engine, ask };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

describe("keys", () => {
  test("of 100,000 leave the most frequent one, and a document of bounded size", () => {
    const time = { now: START };
    const { ask, snapshot, engine, verdict } = thread(time);
    const { rules } = engine.consume({
      domain: "shop",
      descriptors: [{ entries: [["big", "often"]] }],
    }) as Verdict;
    const seen = (key: string) =>
      verdict({ allowed: true, decision: undefined, rules: [{ ...rules[0]!, key }] });
    const long = "\u0000".repeat(300);
    for (let turn = 0; turn < 100_000; turn++) {
      seen(`${turn}${long}`);
      if (turn % 50 === 0) seen("big=often");
    }
    ask("user", "refused", 1_000);
    const all = snapshot("");
    const often = all.keys.find(({ key }) => key === "big=often");
    assert.ok(often !== undefined && often.used <= 2_001 && often.used > 1_500, `${often?.used}`);
    const refused = all.keys.find(({ key }) => key === "user=refused")!;
    assert.deepEqual([refused.used <= 3, refused.refused], [true, 997]);
    assert.deepEqual(snapshot().keys, []);
    assert.deepEqual(snapshot("OFTEN").keys, [often]);
    const facts = {
      now: START,
      startedAt: START,
      needsToken: true,
      loaded: { at: START, version: "0123456789ab", failedAt: null, source: "rules", reason: "" },
      rules: engine.rules,
      figures: all,
      history: history(START),
      shadow: false,
      storeKind: "memory",
      outagePolicy: undefined,
    } as const;
    const document = liveDocument(facts, { search: "", own: true });
    assert.ok(document.keys!.length <= 100);
    assert.ok(JSON.stringify(document).length < 200_000);
  });

  test("are counted exactly while there are few, on all threads, and forgotten within the hour", () => {
    const time = { now: START };
    const threads = [thread(time), thread(time)];
    const keys = () =>
      addFigures(threads.map(({ snapshot }) => snapshot(""))).keys
        .map(({ key, used, refused, shadow }) => [key, used, refused, shadow]);
    for (const { ask } of threads) {
      ask("user", "a", 6);
      ask("plan", "free", 3);
    }
    const expected = [
      ["user=a", 6, 6, false],
      ["plan=free", 2, 4, true],
    ];
    assert.deepEqual(keys(), expected);
    time.now += 59 * MINUTE;
    assert.deepEqual(keys(), expected);
    threads[0]!.ask("big", "b");
    time.now += MINUTE;
    assert.deepEqual(keys(), [["big=b", 1, 0, false]]);
  });
});

describe("the last hour", () => {
  const counted = (admitted: number, more: Partial<FiguresSnapshot> = {}): FiguresSnapshot => ({
    ...addFigures([]),
    decisions: { admitted, refused: 0, shadowRefused: 0, unavailable: 0 },
    rules: [{
      domain: "shop",
      rule: "user",
      key: undefined,
      shadow: false,
      admitted,
      refused: 0,
      shadowRefused: 0,
      unavailable: 0,
      nearLimit: 0,
      overLimit: 0,
    }],
    ...more,
  });

  test("has each minute's part of the counters of all threads", () => {
    const time = { now: START };
    const threads = [thread(time), thread(time)];
    const { record, totals, minutes } = history(time.now);
    const look = () => record(addFigures(threads.map(({ snapshot }) => snapshot())), time.now);
    for (let minute = 0; minute < 3; minute++) {
      threads[0]!.ask("user", "a", 2);
      threads[1]!.ask("user", "a", minute * 2);
      time.now += MINUTE / 2;
      look();
      time.now += MINUTE / 2;
      look();
    }
    const { from, admitted, refused } = totals();
    assert.equal(from, time.now - 59 * MINUTE);
    assert.deepEqual(admitted.slice(-5), [0, 2, 3, 1, 0]);
    assert.deepEqual(refused.slice(-5), [0, 0, 1, 5, 0]);
    assert.deepEqual(minutes("shop\0per-user")!.refused.slice(-5), [0, 0, 1, 5, 0]);
    assert.equal(minutes("shop\0plan"), undefined);
  });

  test("forgets older figures, and counts neither an older snapshot nor a removed rule", () => {
    const { record, totals, minutes } = history(START);
    record(counted(10), START + MINUTE);
    record(counted(7), START + MINUTE - 1);
    record(counted(12), START + 2 * MINUTE);
    assert.deepEqual([sumOf(totals().admitted), totals().admitted.length], [12, 60]);
    record(counted(13), START + MINUTE);
    assert.equal(sumOf(totals().admitted), 13, "the clock was set back");
    record(counted(14), START + 60 * MINUTE);
    assert.equal(sumOf(totals().admitted), 4);
    record(counted(15, { rules: [] }), START + 500 * MINUTE);
    assert.equal(sumOf(totals().admitted), 0);
    assert.equal(minutes("shop\0user"), undefined);
  });

  test("has the latency of each minute by its histogram", () => {
    const { call, snapshot } = figures();
    const { record, totals } = history(START);
    for (let turn = 0; turn < 100; turn++) {
      call("/v1/consume", 200, turn < 98 ? 0.00004 : 0.4);
      call("other", 200, 5);
    }
    record(snapshot(), START + MINUTE);
    const { p50, p99, hour } = totals();
    assert.deepEqual([p50.slice(-2), p99.slice(-2)], [[hour.p50, null], [hour.p99, null]]);
    assert.ok(hour.p50! > 0.03 && hour.p50! <= 0.05, `${hour.p50}`);
    assert.ok(hour.p99! > 300 && hour.p99! <= 500, `${hour.p99}`);
    assert.ok(LATENCY_BUCKETS.every((end, index) => end > (LATENCY_BUCKETS[index - 1] ?? 0)));
  });
});
