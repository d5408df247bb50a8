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

test("a call waits again once another one has had the lock", () => {
  /** How often a call still finds the lock taken. */
  let busy = 0;
  const statement = { run: () => {}, get: () => undefined, all: () => [] };
  const locked = {
    ...statement,
    run() {
      if (busy-- > 0) throw Object.assign(new Error("database is locked"), { errcode: 5 });
    },
  };
  const database = {
    prepare: (sql: string) => sql.startsWith("BEGIN") ? locked : statement,
    exec: () => {},
    close: () => {},
  };
  const driver = sqliteDriver(database as unknown as SqliteDatabase, "limits", 500, () => {});
  const call = () => driver.transact([], () => ({ writes: [], answer: "decided" }));
  busy = Infinity;
  assert.throws(call, DriverError);
  busy = 0;
  assert.equal(call(), "decided");
  busy = 4;
  assert.equal(call(), "decided");
});
