/*
 * The laws of drivers: what a database must do so that a store on it is exact. They call the driver
 * without the engine in between, so that a failure names what is wrong with the driver.
 */

import fc from "fast-check";
import { checkFunction } from "../../core/options/checks.ts";
import type { CompareAndSet, DriverCell } from "../../stores/driver.ts";
import type { LockedTransaction } from "../../stores/locked/locked_transaction.ts";
import { type Commit, committer, read, timeOf } from "./laws/driver_commit.ts";
import { commitCases, commitInTurn } from "./laws/driver_cases.ts";
import { expectSame } from "./laws/expect_same.ts";
import { inOrder, type Law, law } from "./law.ts";

/** Makes a driver; each of one and the same database, as another process would. */
export type MakeDriver = () =>
  | CompareAndSet
  | LockedTransaction
  | Promise<CompareAndSet | LockedTransaction>;

/** Two drivers of one database, and keys that nobody else uses. */
interface Fixture {
  readonly one: Commit;
  readonly other: Commit;
  readonly driver: CompareAndSet | LockedTransaction;
  keyOf(name: string): string;
}

/** Names that databases like to confuse, shorten or take for patterns. */
const NAMES: readonly string[] = [
  ...["key", "Key", "KEY", "key ", " key", "kéy", "ke\u0301y", "ке\u0443", "鍵", "🗝"],
  ...["k%y", "k_y", "k*y", "k?y", "k[e]y", "k'y", 'k"y', "k\\y", "k\ny", "k/y", "k:y", "k$1y"],
  ...["1", "01", "1.0", "null", "undefined", "__proto__"],
  ...["a", "b"].map((end) => "long".repeat(400) + end),
];
/** Enough sweeps to come round, however few keys each of them looks at. */
const MOST_SWEEPS = 100;
const MINUTE = 60_000;
let fixtures = 0;

/**
 * The laws of drivers, for both kinds: they run on the driver itself, and say in words what it does
 * wrong. A store on a driver that keeps them keeps the laws of stores.
 *
 * @param makeDriver Makes a driver; each case makes two of one database and closes both. Keys begin
 * with `law-`, and are left to the database if it sweeps no keys and deletes no prefix.
 * @returns The laws; each runs by itself under any runner, asynchronously.
 * @throws {TypeError} If `makeDriver` is no function, such as a driver itself.
 *
 * @example
 * ```ts
 * import { driverLaws } from "tidegate/testing";
 *
 * const texts = new Map<string, string>();
 * const laws = driverLaws(() => ({
 *   name: "The map",
 *   transact(keys, body) {
 *     const { writes, answer } = body(keys.map((key) => texts.get(key) ?? ""));
 *     for (const { key, next } of writes) texts.set(key, next);
 *     return answer;
 *   },
 * }));
 * for (const law of laws) await law.run({ numRuns: 5 });
 * ```
 */
export function driverLaws(makeDriver: MakeDriver): readonly Law[] {
  checkFunction("make driverLaws", "makeDriver", makeDriver);
  return inOrder(Object.entries(CHECKS).map(([name, check]) => check(name, makeDriver)));
}

/** A law of one kind of case. */
function forAll<Case>(
  cases: fc.Arbitrary<Case>,
  check: (fixture: Fixture, one: Case) => Promise<void>,
): (name: string, make: MakeDriver) => Law {
  return (name, make) =>
    law(
      name,
      fc.asyncProperty(cases, async (one) => {
        const drivers = [await make(), await make()] as const;
        const prefix = `law-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
        const beginning = `${prefix}-${++fixtures}:{`;
        try {
          await check({
            one: committer(drivers[0]),
            other: committer(drivers[1]),
            driver: drivers[0],
            keyOf: (text) => `${beginning}${text}}:g1`,
          }, one);
        } finally {
          await drivers[0].deletePrefix?.(beginning);
          for (const driver of drivers) await driver.close?.();
        }
        return true;
      }),
    );
}

/** Writes texts where there was none, or ends the law. */
async function put(commit: Commit, cells: readonly Partial<DriverCell>[]): Promise<void> {
  const freshAt = await timeOf(commit) + 10 * MINUTE;
  const whole = cells.map((cell) => ({ key: "", held: "", next: "text", freshAt, ...cell }));
  const { lost } = await commit(whole.map((cell) => [cell]));
  expectSame(lost.length, 0, "lost groups, where all keys hold what they should,");
}

/** Ends the law unless keys hold these texts. */
async function expectHeld(
  commit: Commit,
  keys: readonly string[],
  texts: readonly string[],
  when: string,
): Promise<void> {
  const held = await read(commit, keys);
  for (const [index, text] of texts.entries()) {
    const what = `the text of ${JSON.stringify(keys[index])} ${when}`;
    expectSame(JSON.stringify(held[index]), JSON.stringify(text), what);
  }
}

async function sweepAll({ driver }: Fixture): Promise<void> {
  for (let sweep = 0; sweep < MOST_SWEEPS; sweep++) await driver.sweep?.(256);
}

const CHECKS: Readonly<Record<string, (name: string, make: MakeDriver) => Law>> = {
  "keys are kept apart, and texts come back as they were": forAll(
    fc.string({ minLength: 1, maxLength: 2_000 }),
    async ({ one, other, keyOf }, text) => {
      const whole = keyOf("whole");
      // A driver that trims keys takes these for one.
      const outer = ` ${whole}`;
      const keys = [...NAMES.map(keyOf), whole, `${whole} `, outer];
      const texts = keys.map((_, index) => index === 0 ? text : `g1:${index}`);
      await put(one, keys.map((key, index) => ({ key, next: texts[index]! })));
      await expectHeld(other, keys, texts, "that was written");
      // No prefix of this law covers it.
      await put(one, [{ key: outer, held: texts.at(-1)!, next: "" }]);
    },
  ),
  "a group is lost exactly if one of its keys holds another text": forAll(
    commitCases(),
    ({ one, other, keyOf }, steps) =>
      commitInTurn([one, other], keyOf, steps, (step) => {
        expectSame(step.lost.join(), step.wantedLost.join(), "the groups that are lost to be");
      }),
  ),
  "a lost group returns what its keys hold, in their order": forAll(
    commitCases(),
    ({ one, other, keyOf }, steps) =>
      commitInTurn([one, other], keyOf, steps, (step) => {
        expectSame(step.told, step.wantedTold, "lost groups to be told");
      }),
  ),
  "a group is written as a whole or not at all, and others beside it are not concerned": forAll(
    commitCases(),
    ({ one, other, keyOf }, steps) =>
      commitInTurn([one, other], keyOf, steps, async (step) => {
        await expectHeld(other, step.keys, step.wantedTexts, "after a commit");
      }),
  ),
  "a comparison writes nothing": forAll(fc.constant(1), async (fixture) => {
    const { one, other, keyOf } = fixture;
    const key = keyOf("compared");
    await put(one, [{ key }]);
    const { lost } = await other([[{ key, held: "text", next: "text", freshAt: 0 }]]);
    expectSame(lost.length, 0, "lost groups of a comparison that holds");
    await sweepAll(fixture);
    await expectHeld(other, [key], ["text"], "that was only compared");
  }),
  "a key stays until it is fresh": forAll(
    fc.integer({ min: MINUTE, max: 40_000 * MINUTE }),
    async (fixture, left) => {
      const { one, other, keyOf } = fixture;
      const key = keyOf("kept");
      await put(one, [{ key, next: "first", freshAt: await timeOf(one) + 5 * MINUTE }]);
      const freshAt = await timeOf(one) + left;
      await one([[{ key, held: "first", next: "second", freshAt }]]);
      await sweepAll(fixture);
      await expectHeld(other, [key], ["second"], `${left} ms before it is fresh`);
    },
  ),
  "a key whose time has come is swept": forAll(fc.constant(1), async (fixture) => {
    const { one, other, keyOf, driver } = fixture;
    if (driver.sweep === undefined) return;
    const key = keyOf("swept");
    await put(one, [{ key, freshAt: await timeOf(one) + 5 * MINUTE }]);
    const freshAt = await timeOf(one) - 10 * MINUTE;
    await one([[{ key, held: "text", next: "late", freshAt }]]);
    await sweepAll(fixture);
    await expectHeld(other, [key], [""], "that is long fresh");
  }),
  "of several who change a key at once, one does": forAll(
    fc.integer({ min: 2, max: 8 }),
    async ({ one, other, keyOf }, callers) => {
      const key = keyOf("hot");
      const freshAt = await timeOf(one) + 10 * MINUTE;
      const texts = Array.from({ length: callers }, (_, index) => `g1:${index}`);
      const outcomes = await Promise.all(
        texts.map((next, index) => (index % 2 ? other : one)([[{ key, held: "", next, freshAt }]])),
      );
      const winners = texts.filter((_, index) => outcomes[index]!.lost.length === 0);
      expectSame(winners.length, 1, "callers who changed a key at once to be");
      await expectHeld(other, [key], winners, "that several changed at once");
      for (const { lost } of outcomes) {
        for (const { held } of lost) expectSame(held[0], winners[0], "a loser to be told");
      }
    },
  ),
  "no change is lost, and every change ends": forAll(
    fc.integer({ min: 2, max: 6 }),
    async ({ one, other, keyOf }, callers) => {
      const keys = [keyOf("left"), keyOf("right")];
      const freshAt = await timeOf(one) + 10 * MINUTE;
      const count = async (commit: Commit, ordered: readonly string[]): Promise<void> => {
        let held = ordered.map(() => "");
        // Somebody else wins whenever one loses, so that nobody loses more often than there are others.
        for (let attempt = 0; attempt < 20 * callers; attempt++) {
          const next = String(Number(held[0]) + 1);
          const group = ordered.map((key, at) => ({ key, held: held[at]!, next, freshAt }));
          const { lost } = await commit([group]);
          if (lost.length === 0) return;
          held = [...lost[0]!.held];
        }
        throw new Error("Expected a caller to win at last who compares what it was told");
      };
      const calls = Array.from(
        { length: callers },
        (_, index) => count(index % 2 ? other : one, index % 2 ? [...keys].reverse() : keys),
      );
      await Promise.all(calls);
      await expectHeld(one, keys, keys.map(() => String(callers)), "that all have counted up");
    },
  ),
  "time is in milliseconds since 1970": forAll(fc.constant(1), async ({ one }) => {
    const { now = Date.now(), lost } = await one([]);
    expectSame(lost.length, 0, "lost groups of none");
    const isTime = typeof now === "number" && Math.abs(now - Date.now()) < 24 * 60 * MINUTE;
    if (!isTime) throw new Error(`Expected now to be within a day of ${Date.now()}, not ${now}`);
  }),
  "all keys of a prefix are listed and deleted, and no others": forAll(fc.constant(1), async (
    { one, other, keyOf, driver },
  ) => {
    const beginning = keyOf("").slice(0, -"{}:g1".length);
    const inside = ["a_b%:{x}:g1", "a_b%:{y}:g1", "a_b%:{\ud83d\ude80}:g1"].map((end) =>
      beginning + end
    );
    const outside = ["axb%:{x}:g1", "a_bc:{x}:g1", "A_B%:{x}:g1", "a_b%:x"].map((end) =>
      beginning + end
    );
    await put(one, [...inside, ...outside].map((key) => ({ key })));
    if (driver.list !== undefined) {
      const found: string[] = [];
      for (let after = "", page = inside.length; page > 0; page--) {
        const rows = await driver.list(`${beginning}a_b%:{`, after, 1);
        found.push(...rows.map(([key, text]) => `${key} ${text}`));
        after = rows.at(-1)?.[0] ?? after;
      }
      const all = JSON.stringify(inside.map((key) => `${key} text`).sort());
      expectSame(JSON.stringify(found.sort()), all, "the listed keys and texts");
      const last = await driver.list(`${beginning}a_b%:{`, inside.at(-1)!, 1_000);
      expectSame(last.length, 0, "keys after the last one");
    }
    if (driver.deletePrefix === undefined) return;
    await driver.deletePrefix(`${beginning}a_b%:{`);
    await expectHeld(other, inside, inside.map(() => ""), "whose prefix is deleted");
    await expectHeld(other, outside, outside.map(() => "text"), "that begins otherwise");
    for (const key of outside) await driver.deletePrefix(key);
  }),
  "what throws while a key is locked writes nothing": forAll(fc.constant(1), async (fixture) => {
    const { one, other, keyOf, driver } = fixture;
    if (!("transact" in driver)) return;
    const key = keyOf("thrown");
    const failure = new Error("thrown by the law");
    let caught: unknown;
    try {
      driver.transact([key], () => {
        throw failure;
      });
    } catch (error) {
      caught = error;
    }
    const { cause } = Object(caught) as Partial<Error>;
    expectSame(caught === failure || cause === failure, true, "the function's error to be thrown:");
    await put(one, [{ key }]);
    await expectHeld(other, [key], ["text"], "that was written after a failure");
  }),
};
