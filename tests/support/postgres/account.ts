/*
 * Callers who keep an account of what they were answered: nothing that was answered may be missing in
 * the database, and nothing may be there that nobody asked for.
 */
import assert from "node:assert/strict";

import { consumeAll, fixedWindow, limiter, StoreUnavailableError } from "../../../mod.ts";
import { ContentionError } from "../../../core/errors.ts";
import type { AsyncStore } from "../../../core/store.ts";

const LIMIT = 1_000_000;
const ALGORITHM = fixedWindow({ limit: LIMIT, period: "365d", anchor: "first" });
const KEYS = 8;

/** The outcomes of calls. */
export interface Account {
  readonly answered: number;
  /** Calls that may or may not have been charged. */
  readonly unknown: number;
  readonly messages: ReadonlySet<string>;
  /** The most milliseconds that a call took. */
  readonly longest: number;
}

/** Callers on one key, on several keys, and on two keys in both orders. */
export function accountOf(store: AsyncStore, prefix: string) {
  const api = limiter(ALGORITHM, { store, prefix });
  const answered = new Map<string, number>();
  const unknown = new Map<string, number>();
  const messages = new Set<string>();
  let longest = 0;
  let calls = 0;

  async function call(): Promise<void> {
    const turn = calls++;
    const keys = turn % 3 === 0
      ? ["hot"]
      : turn % 3 === 1
      ? [`key ${turn % KEYS}`]
      : turn % 2 === 0
      ? ["left", "right"]
      : ["right", "left"];
    const began = performance.now();
    try {
      if (keys.length === 1) await api.consume(keys[0]!);
      else await consumeAll(keys.map((key) => ({ limiter: api, key })));
      count(answered, keys);
    } catch (error) {
      assert.ok(
        error instanceof StoreUnavailableError || error instanceof ContentionError,
        String(error),
      );
      messages.add(error.message);
      if (error instanceof StoreUnavailableError && error.applied === "unknown") {
        count(unknown, keys);
      }
    }
    longest = Math.max(longest, performance.now() - began);
  }

  return {
    /** So many callers call until a promise resolves. */
    async callUntil(end: Promise<unknown>, callers = 16): Promise<void> {
      let isOver = false;
      const over = end.finally(() => isOver = true);
      await Promise.all(Array.from({ length: callers }, async () => {
        while (!isOver) {
          await call();
          // A call that fails at once must not stop the rest of the process.
          await new Promise((resolve) => setImmediate(resolve));
        }
      }));
      await over;
    },
    /** So many calls at once. */
    callAtOnce: (calls: number): Promise<unknown> =>
      Promise.all(Array.from({ length: calls }, call)),
    /** Their outcomes so far. */
    come: (): Account => ({
      answered: sum(answered),
      unknown: sum(unknown),
      messages,
      longest,
    }),
    /** Requires a store to hold all answered units, and at most the unknown ones in addition. */
    async check(other: AsyncStore): Promise<void> {
      const held = limiter(ALGORITHM, { store: other, prefix });
      const used = new Map<string, number>();
      const keys = ["hot", "left", "right", ...Array.from({ length: KEYS }, (_, n) => `key ${n}`)];
      for (const key of keys) used.set(key, LIMIT - (await held.peek(key, 0)).remaining);
      for (const key of keys) {
        const [least, most] = [answered.get(key) ?? 0, unknown.get(key) ?? 0];
        const text = `${key}: ${least} answered, ${most} unknown, ${used.get(key)} charged`;
        assert.ok(used.get(key)! >= least && used.get(key)! <= least + most, text);
      }
      assert.equal(used.get("left"), used.get("right"));
    },
  };
}

function count(counts: Map<string, number>, keys: readonly string[]): void {
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
