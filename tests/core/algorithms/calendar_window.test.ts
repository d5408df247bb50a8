import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";

import { calendarWindowRule, type ZoneChanges } from "../../../adapters/testing/testing.ts";
import { headerWriter } from "../../../adapters/http/http.ts";
import { calendarWindow, limiter, memoryStore } from "../../../mod.ts";
import { isLong } from "../../support/seed.ts";

type Unit = Parameters<typeof calendarWindow>[0]["every"];

const file = new URL("../../vectors/calendar_zones.json", import.meta.url);
const { zones } = JSON.parse(readFileSync(file, "utf8")) as {
  readonly zones: Readonly<Record<string, readonly (readonly [number, number])[]>>;
};

const DAY = 86_400_000;
const START = Date.UTC(1985, 5, 1);
const END = Date.UTC(2025, 5, 1);
const units: readonly Unit[] = ["hour", "day", "week", "month", "year"];

function changesOf(zone: string): ZoneChanges {
  return zones[zone]!.map((
    [second, offset],
    index,
  ) => [index === 0 ? -Infinity : second * 1_000, offset]);
}

/**
 * Where a walk through all windows begins and ends. Of 350,640 hours and 14,610 days, a short run tries
 * those around each change of the clocks.
 */
function walks(unit: Unit, changes: ZoneChanges): readonly (readonly [from: number, to: number])[] {
  const size = { hour: DAY / 24, day: DAY }[unit as string];
  if (size === undefined || isLong()) return [[START, END]];
  return changes.flatMap(([at]) => START < at && at < END ? [[at - 5 * size, at + 5 * size]] : []);
}

describe("calendarWindow", () => {
  for (
    const [zone, unit] of Object.keys(zones).flatMap((zone) =>
      units.map((unit) => [zone, unit] as const)
    )
  ) {
    test(`has the windows of each ${unit} in ${zone}, for 40 years`, () => {
      const changes = changesOf(zone);
      const options = { limit: 1, every: unit, zone, ...(unit === "week" && { weekStart: 7 }) };
      const { step, initial, policies } = calendarWindow(options);
      const rule = calendarWindowRule(options, changes);
      let windows = 0;
      for (const [from, to] of walks(unit, changes)) {
        let now = from;
        while (now < to) {
          const [decision, state] = step(initial, now, 1);
          const end = now + decision.resetAfter;
          const use = rule.after(undefined, BigInt(now), 1n)!;
          assert.equal(rule.fresh(use, BigInt(end - 1)), false, `${now} to ${end}`);
          assert.equal(rule.fresh(use, BigInt(end)), true, `${now} to ${end}`);
          assert.equal(step(state, end - 1, 1)[0].retryAfter, 1);
          assert.equal(step(state, end, 1)[0].allowed, true);
          if (now > from && unit !== "hour") assert.equal(policies[0]!.periodAt!(now), end - now);
          windows++;
          now = end;
        }
      }
      assert.ok(windows >= 40, String(windows));
    });
  }

  const days: readonly (readonly [zone: string, at: string, unit: Unit, end: string])[] = [
    // Clocks go on, and back: 23 and 25 hours.
    ["Europe/Berlin", "2025-03-30T00:00+01:00", "day", "2025-03-31T00:00+02:00"],
    ["Europe/Berlin", "2025-10-26T00:00+02:00", "day", "2025-10-27T00:00+01:00"],
    ["Europe/Berlin", "2024-02-10T12:00+01:00", "month", "2024-03-01T00:00+01:00"],
    ["Europe/Berlin", "2025-03-10T12:00+01:00", "month", "2025-04-01T00:00+02:00"],
    ["Europe/Berlin", "2024-12-31T23:59+01:00", "year", "2025-01-01T00:00+01:00"],
    ["Europe/Berlin", "2025-10-26T02:30+02:00", "hour", "2025-10-26T03:00+01:00"],
    // A day without midnight.
    ["Africa/Cairo", "2025-04-24T12:00+02:00", "day", "2025-04-25T01:00+03:00"],
    ["America/Sao_Paulo", "2018-11-03T12:00-03:00", "day", "2018-11-04T01:00-02:00"],
    // There was no 30th.
    ["Pacific/Apia", "2011-12-29T12:00-10:00", "day", "2011-12-31T00:00+14:00"],
    // Clocks stepped back at one minute past midnight, into the day before.
    ["America/St_Johns", "2006-10-28T12:00-02:30", "day", "2006-10-29T00:00-02:30"],
    ["America/St_Johns", "2006-10-28T23:30-03:30", "day", "2006-10-30T00:00-03:30"],
    // Half hours.
    ["Asia/Kolkata", "2025-01-01T10:15+05:30", "hour", "2025-01-01T11:00+05:30"],
    ["Australia/Lord_Howe", "2025-04-06T00:00+11:00", "day", "2025-04-07T00:00+10:30"],
  ];
  for (const [zone, at, every, end] of days) {
    test(`ends the ${every} of ${at} in ${zone} at ${end}`, () => {
      const { step, initial } = calendarWindow({ limit: 2, every, zone });
      const now = Date.parse(at);
      const [first, state] = step(initial, now, 2);
      assert.equal(new Date(now + first.resetAfter).toISOString(), new Date(end).toISOString());
      const [refused] = step(state, now + 1, 1);
      assert.deepEqual(
        [refused.allowed, refused.retryAfter, refused.nextAfter],
        [false, first.resetAfter - 1, first.resetAfter - 1],
      );
    });
  }

  test("begins weeks on any day", () => {
    const now = Date.parse("2025-01-01T12:00Z"); // a Wednesday
    for (
      const [weekStart, left] of [[undefined, 4.5], [1, 4.5], [3, 6.5], [4, 0.5], [7, 3.5]] as const
    ) {
      const { step, initial } = calendarWindow({ limit: 1, every: "week", zone: "UTC", weekStart });
      assert.equal(step(initial, now, 1)[0].resetAfter, left * DAY);
    }
  });

  test("keeps to the end that a host with other time zone data has written", () => {
    const { step, codec } = calendarWindow({ limit: 5, every: "day", zone: "Europe/Berlin" });
    const end = Date.parse("2025-06-02T00:00+01:00"); // as if there were no summer time
    const state = codec.decode(`f1 ${end / 1_000} 5`)!;
    assert.equal(step(state, end - 1_800_000, 1)[0].retryAfter, 1_800_000);
    assert.equal(step(state, end, 1)[0].allowed, true);
  });

  test("asks Intl once per window", (context) => {
    const asked = context.mock.method(Intl.DateTimeFormat.prototype, "formatToParts");
    const daily = limiter(calendarWindow({ limit: 9, every: "day", zone: "Europe/Berlin" }), {
      store: memoryStore(),
      prefix: "calendar",
      clock: () => now,
    });
    let now = Date.parse("2025-03-28T00:00+01:00");
    const counts: number[] = [];
    for (let day = 0; day < 5; day++, now += DAY) {
      for (let call = 0; call < 50; call++) daily.consume(`key ${call}`);
      counts.push(asked.mock.callCount());
    }
    const own = counts.map((count, index) => count - (counts[index - 1] ?? 0));
    assert.ok(own.every((count) => count > 0 && count < 60), own.join());
    for (let call = 0; call < 50; call++) daily.consume(`other ${call}`);
  });

  test("states the length of the window that is now in header fields", () => {
    const monthly = calendarWindow({ limit: 100, every: "month", zone: "Europe/Berlin" });
    for (const headers of ["draft-11", "draft-7"] as const) {
      const write = headerWriter(monthly.policies, { headers });
      for (
        const [at, days] of [["2025-02-10", 28], ["2025-03-10", 31 - 1 / 24], [
          "2025-04-30",
          30,
        ]] as const
      ) {
        const now = Date.parse(`${at}T12:00Z`);
        const [decision] = monthly.step(monthly.initial, now, 1);
        assert.match(
          write([decision], now)[0]![1],
          new RegExp(`;w=${days * 86_400}$`),
          `${headers} ${at}`,
        );
      }
    }
  });

  test("has an id of its options, and a name that says them", () => {
    const options = { limit: 5, every: "week", zone: "Europe/Berlin" } as const;
    assert.equal(calendarWindow(options).id, "calendarWindow/week/Europe/Berlin");
    assert.equal(calendarWindow({ ...options, weekStart: 1 }).id, calendarWindow(options).id);
    assert.equal(
      calendarWindow({ ...options, weekStart: 7 }).id,
      "calendarWindow/week/Europe/Berlin/7",
    );
    assert.equal(calendarWindow(options).name, "5-per-week");
    assert.equal(calendarWindow({ ...options, name: "free" }).name, "free");
  });

  test("names the zones that come nearest to an unknown one", () => {
    const make = (zone: unknown) => () =>
      calendarWindow({ limit: 1, every: "day", zone: zone as string });
    const says = (text: string) => (error: Error) => error.message.includes(text);
    assert.throws(make("Europe/Berlin "), /did you mean Europe\/Berlin\?/);
    assert.throws(
      make("Berlin"),
      /^RangeError: Cannot create calendarWindow because there is no time zone "Berlin": did you mean Europe\/Berlin\?$/,
    );
    assert.throws(make("Europe/Belrin"), says("Europe/Berlin"));
    assert.throws(make("america/new york"), says("America/New_York"));
    const rule = 'zone must be the name of an IANA time zone, such as "Europe/Berlin"';
    for (const wrong of ["", "+05:30", "no such place", "\0", "x".repeat(1e6)]) {
      assert.throws(make(wrong), says(rule));
    }
    for (const wrong of [undefined, null, 7, {}]) assert.throws(make(wrong), TypeError);
  });

  test("refuses options that it does not have", () => {
    const good = { limit: 1, every: "day", zone: "UTC" } as const;
    const make = (more: object) => () => calendarWindow({ ...good, ...more } as never);
    assert.throws(
      make({ every: "fortnight" }),
      /every must be "hour", "day", "week", "month" or "year"/,
    );
    assert.throws(make({ limit: -1 }), /limit must be an integer of at least 0/);
    assert.throws(make({ weekStart: 1 }), /weekStart must be left out unless every is "week"/);
    for (const weekStart of [0, 8]) {
      assert.throws(
        make({ every: "week", weekStart }),
        /weekStart must be an integer from 1 to 7:/,
      );
    }
    assert.throws(make({ period: "1d" }), /there is no option "period"/);
    assert.throws(make({ name: "" }), /name must be a non-empty string/);
  });
});
