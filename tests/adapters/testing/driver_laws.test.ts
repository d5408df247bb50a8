import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";

import { driverLaws, type MakeDriver } from "../../../adapters/testing/testing.ts";
import type { CompareAndSet, DriverCell, LockedTransaction } from "../../../stores/stores.ts";
import { openPath } from "../../../stores/sqlite/database.ts";
import { openTable } from "../../../stores/sqlite/open_table.ts";
import { sqliteDriver } from "../../../stores/sqlite/sqlite_driver.ts";
import { fcOptions } from "../../support/seed.ts";

/** The parts of a driver on a map. Each fault replaces one part. */
interface Parts {
  keyOf(key: string): string;
  textOf(text: string): string;
  /** Whether a cell holds its expected text. */
  holds(cell: DriverCell, held: string): boolean;
  /** The cells of a group that is not lost, which are written. */
  written(cells: readonly DriverCell[]): readonly DriverCell[];
  /** The held texts, as a lost group is told them. */
  told(held: readonly string[], cells: readonly DriverCell[]): readonly string[];
  /** The groups that are committed. */
  groups(groups: readonly (readonly DriverCell[])[]): readonly (readonly DriverCell[])[];
  /** Whether a key of this `freshAt` is swept. */
  isOver(freshAt: number, now: number): boolean;
  begins(key: string, beginning: string): boolean;
  /** The key after which a list goes on. */
  after(key: string): string;
  now(): number | undefined;
  /** Lets others in between the comparison and the writing. */
  between(): void | Promise<void>;
}

const HONEST: Parts = {
  keyOf: (key) => key,
  textOf: (text) => text,
  holds: ({ held: wanted }, held) => held === wanted,
  written: (cells) => cells.filter(({ held, next }) => next !== held),
  told: (held) => held,
  groups: (groups) => groups,
  isOver: (freshAt, now) => freshAt < now,
  begins: (key, beginning) => key.startsWith(beginning),
  after: (key) => key,
  now: () => Date.now(),
  between: () => {},
};

type Rows = Map<string, { readonly text: string; readonly freshAt: number }>;

/** A driver on a map. Where nothing comes in between, a commit is one step. */
function mapDriver(rows: Rows, parts: Parts): CompareAndSet {
  const { keyOf } = parts;
  const textAt = (key: string) => rows.get(keyOf(key))?.text ?? "";
  function write({ key, next, freshAt }: DriverCell): void {
    const text = parts.textOf(next);
    if (text === "") rows.delete(keyOf(key));
    else rows.set(keyOf(key), { text, freshAt });
  }
  return {
    name: "The map",
    async commit(given) {
      const groups = parts.groups(given);
      const compared = groups.map((cells) => {
        const held = cells.map(({ key }) => textAt(key));
        return { cells, held, isLost: cells.some((cell, at) => !parts.holds(cell, held[at]!)) };
      });
      const pause = parts.between();
      if (pause !== undefined) await pause;
      for (const { cells, isLost } of compared) {
        if (!isLost) parts.written(cells).forEach(write);
        else if (parts.written === eachAlone) {
          cells.filter(({ key, held }) => textAt(key) === held).forEach(write);
        }
      }
      const lost = compared.flatMap(({ cells, held, isLost }, group) =>
        isLost ? [{ group, held: parts.told(held, cells) }] : []
      );
      return { now: parts.now(), lost };
    },
    sweep(most) {
      const now = Date.now();
      const over = [...rows].filter(([, { freshAt }]) => parts.isOver(freshAt, now)).slice(0, most);
      for (const [key] of over) rows.delete(key);
      return over.length;
    },
    list: (beginning, after, most) =>
      [...rows]
        .filter(([key]) => parts.begins(key, beginning) && key > parts.after(after))
        .sort(([one], [other]) => one < other ? -1 : 1)
        .slice(0, most)
        .map(([key, { text }]) => [key, text]),
    deletePrefix(beginning) {
      for (const key of [...rows.keys()]) if (parts.begins(key, beginning)) rows.delete(key);
    },
  };
}

/** Writes the changed cells even of a lost group. */
function eachAlone(cells: readonly DriverCell[]): readonly DriverCell[] {
  return HONEST.written(cells);
}

const APART = "keys are kept apart, and texts come back as they were";
const LOST = "a group is lost exactly if one of its keys holds another text";
const TOLD = "a lost group returns what its keys hold, in their order";
const WHOLE = "a group is written as a whole or not at all, and others beside it are not concerned";
const COMPARED = "a comparison writes nothing";
const STAYS = "a key stays until it is fresh";
const SWEPT = "a key whose time has come is swept";
const ONE = "of several who change a key at once, one does";
const COUNTED = "no change is lost, and every change ends";
const TIME = "time is in milliseconds since 1970";
const PREFIX = "all keys of a prefix are listed and deleted, and no others";
const THROWN = "what throws while a key is locked writes nothing";

/** Faults of drivers, and the law that names each. */
const FAULTS: readonly (readonly [name: string, law: string, change: Partial<Parts>])[] = [
  ["keys without case", APART, { keyOf: (key) => key.toLowerCase() }],
  ["keys without spaces at their ends", APART, { keyOf: (key) => key.replace(" }", "}") }],
  ["keys that are trimmed", APART, { keyOf: (key) => key.trim() }],
  ["keys that are normalized", APART, { keyOf: (key) => key.normalize("NFC") }],
  ["keys that are cut off", APART, { keyOf: (key) => key.slice(0, 255) }],
  ["texts that are cut off", APART, { textOf: (text) => text.slice(0, 3) }],
  ["a comparison of the first key only", LOST, { written: firstOnly, holds: isAnything }],
  ["a group of which single keys are written", WHOLE, { written: eachAlone }],
  ["a key that is not written", WHOLE, { written: (cells) => HONEST.written(cells).slice(0, 1) }],
  ["a commit of the first group only", WHOLE, { groups: (groups) => groups.slice(0, 1) }],
  ["a lost group that is told what it expected", TOLD, { told: expectedTexts }],
  ["a lost group that is told in another order", TOLD, { told: (held) => [...held].reverse() }],
  ["a comparison that is written", COMPARED, { written: (cells) => cells }],
  ["an expiry in seconds", STAYS, { isOver: (freshAt, now) => freshAt < now * 1_000 }],
  ["a sweep that deletes nothing", SWEPT, { isOver: () => false }],
  ["a write some time after the comparison", ONE, { between: () => Promise.resolve() }],
  ["a lost update of counters", COUNTED, { between: () => Promise.resolve() }],
  ["a read of what was there before", COUNTED, { told: (held) => held.map(() => "") }],
  ["time in seconds", TIME, { now: () => Math.floor(Date.now() / 1_000) }],
  ["time as text", TIME, { now: () => String(Date.now()) as unknown as number }],
  ["a prefix as a pattern of LIKE", PREFIX, { begins: isLike }],
  ["a prefix that deletes nothing", PREFIX, { begins: () => false }],
  ["a list that begins anew", PREFIX, { after: () => "" }],
];

function firstOnly(cells: readonly DriverCell[]): readonly DriverCell[] {
  return cells;
}
function isAnything(): boolean {
  return true;
}
function expectedTexts(_held: readonly string[], cells: readonly DriverCell[]): readonly string[] {
  return cells.map(({ held }) => held);
}
function isLike(key: string, beginning: string): boolean {
  const escaped = beginning.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = escaped.replaceAll("_", ".").replaceAll("%", ".*");
  return new RegExp(`^${pattern}`, "i").test(key);
}

function makerOf(change: Partial<Parts>): MakeDriver {
  const rows: Rows = new Map();
  return () => mapDriver(rows, { ...HONEST, ...change });
}

/** A driver that locks, without a rollback where `isRolledBack` is false. */
function lockedMap(isCareful: boolean): MakeDriver {
  const texts = new Map<string, string>();
  let isLocked = false;
  return (): LockedTransaction => ({
    name: "The locked map",
    transact(keys, body) {
      if (isLocked) throw new Error("locked");
      isLocked = true;
      try {
        const { writes, answer } = body(keys.map((key) => texts.get(key) ?? ""));
        for (const { key, next } of writes) texts.set(key, next);
        isLocked = false;
        return answer;
      } finally {
        if (isCareful) isLocked = false;
      }
    },
  });
}

const folder = mkdtempSync(join(tmpdir(), "tidegate-"));
after(() => rmSync(folder, { recursive: true, force: true }));

describe("honest drivers keep the laws", () => {
  const drivers: Record<string, MakeDriver> = {
    "a map that compares and sets": makerOf({}),
    "a map that is locked": lockedMap(true),
    "SQLite": () => {
      const database = openPath(join(folder, "limits.db"));
      openTable(database, "tidegate", true);
      return sqliteDriver(database, "tidegate", 1_000, () => database.close());
    },
  };
  for (const [name, make] of Object.entries(drivers)) {
    for (const law of driverLaws(make)) {
      test(`${name}: ${law.name}`, () => law.run(fcOptions({ numRuns: 4 })));
    }
  }
});

describe("each fault of a driver is found by name", () => {
  const cases = [
    ...FAULTS.map(([name, law, change]) => ({ name, law, make: makerOf(change) })),
    { name: "a lock that is kept after an exception", law: THROWN, make: lockedMap(false) },
  ];
  for (const one of cases) {
    test(
      `${one.name}: ${one.law}`,
      async () => {
        const law = driverLaws(one.make).find(({ name }) => name === one.law)!;
        await assert.rejects(
          () => Promise.resolve(law.run({ ...fcOptions({ numRuns: 200 }), endOnFailure: true })),
          {
            message: new RegExp(one.law),
          },
        );
      },
    );
  }
});

test("a driver in place of a function that makes one is refused", () => {
  const driver = mapDriver(new Map(), HONEST);
  assert.throws(() => driverLaws(driver as never), TypeError);
});
