import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { DriverError } from "../../../stores/driver.ts";
import type { SqliteDatabase } from "../../../stores/sqlite/database.ts";
import { patience } from "../../../stores/sqlite/patience.ts";
import { sqliteDriver } from "../../../stores/sqlite/sqlite_driver.ts";
import { fcOptions } from "../../support/seed.ts";

/** A clock on which each wait passes the time that it asks for, and a little more. */
function waitingWithin(timeout: number, excess: number) {
  let now = 0;
  const steps: number[] = [];
  const waiting = patience(timeout, {
    now: () => now,
    wait(milliseconds) {
      steps.push(milliseconds);
      now += milliseconds + excess;
    },
  });
  return { waiting, steps };
}

test("a call waits in short steps, and no longer than its timeout", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.double({ min: 0, max: 0.5, noNaN: true }),
      (timeout, excess) => {
        const { waiting, steps } = waitingWithin(timeout, excess);
        const waitStep = waiting.start();
        while (waitStep());
        const whole = steps.reduce((sum, step) => sum + step, 0);
        assert.ok(whole <= timeout + 1e-9, `${whole} ms of ${timeout}`);
        assert.ok(steps.every((step) => step <= 0.3), `${Math.max(...steps)} ms in one step`);
        assert.ok(steps.slice(0, -1).every((step) => step >= 0.1));
      },
    ),
    fcOptions(),
  );
});

test("after a call that waited in vain, others do not wait until one succeeds", () => {
  const { waiting, steps } = waitingWithin(2, 0);
  const first = waiting.start();
  while (first());
  const waited = steps.length;
  assert.equal(waiting.start()(), false);
  assert.equal(steps.length, waited);
  waiting.reward();
  assert.equal(waiting.start()(), true);
});

test("a call waits again once another one has had the lock, and not at all for a lost race", () => {
  /** How often a call still finds the lock taken, and how often another process writes first. */
  const failures = { locks: 0, races: 0 };
  const statement = { run: () => {}, get: () => undefined, all: () => [] };
  const failing = (name: keyof typeof failures) => ({
    ...statement,
    run() {
      if (failures[name]-- > 0) {
        throw Object.assign(new Error("database is locked"), { errcode: 5 });
      }
    },
  });
  const statements: Readonly<Record<string, unknown>> = {
    "BEGIN": failing("locks"),
    "BEGIN IMMEDIATE": failing("locks"),
    "COMMIT": failing("races"),
  };
  const database = {
    prepare: (sql: string) => statements[sql] ?? statement,
    exec: () => {},
    close: () => {},
  };
  const driver = sqliteDriver(database as unknown as SqliteDatabase, "limits", 500, () => {});
  const call = () => driver.transact([], () => ({ writes: [], answer: "decided" }));
  const callsAfter = (locks: number, races: number) => {
    Object.assign(failures, { locks, races });
    return call();
  };
  assert.throws(() => callsAfter(Infinity, 0), DriverError);
  assert.equal(callsAfter(0, 0), "decided");
  assert.equal(callsAfter(4, 0), "decided");
  assert.throws(() => callsAfter(Infinity, 0), DriverError);
  assert.equal(callsAfter(0, 1), "decided");
});
