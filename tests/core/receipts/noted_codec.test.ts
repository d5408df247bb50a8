import assert from "node:assert/strict";
import { describe, test } from "node:test";

import fc from "fast-check";

import { gcra } from "../../../mod.ts";
import { notedCodec } from "../../../core/receipts/noted_codec.ts";
import { entriesOfBoth, type Noted, withNotes } from "../../../core/receipts/noted.ts";
import { fcOptions } from "../../support/seed.ts";

const codec = notedCodec(gcra({ limit: 10, period: "1s", burst: 10 }).codec as never, 2);
const count = fc.oneof(fc.nat(20), fc.maxSafeNat());
const open = fc.tuple(count, fc.nat(9), count, fc.tuple(count, count))
  .map(([id, until, units, marks]) => ({ id, until, units, marks }));

/** States with notes, whose receipts end at few instants. */
const states = fc.tuple(
  fc.nat(9),
  fc.array(open, { maxLength: 5 }),
  fc.array(fc.tuple(fc.nat(9), count, count), { minLength: 1, maxLength: 16 }),
).map(([back, opened, settled]) =>
  withNotes(
    1_790_000_000_000,
    back,
    entriesOfBoth(
      opened.sort((one, other) => one.until - other.until),
      settled.sort(([one], [other]) => one - other).flat(),
    ),
  )
);

describe("the text of a state with notes", () => {
  test("reads as the same state", () => {
    const reads = fc.property(states, (state) => {
      assert.deepEqual(codec.decode(codec.encode(state as never)), state);
    });
    fc.assert(reads, fcOptions());
  });

  test("reads as the same state where receipts have no marks", () => {
    const { encode, decode } = notedCodec(
      gcra({ limit: 10, period: "1s", burst: 10 }).codec as never,
      0,
    );
    const receipt = { id: 1, until: 5, units: 2, marks: [] };
    const state = withNotes(1_790_000_000_000, 0, entriesOfBoth([receipt], [6, 3, 1]));
    assert.equal(encode(state as never), "r1 0 2 1@5*2: 3@6*1 t1 1790000000000");
    assert.deepEqual(decode(encode(state as never)), state);
  });

  test("is the only text of that state", () => {
    const letters = fc.constantFrom(..."0123459 @*:,rt");
    const edits = fc.record({
      at: fc.nat(400),
      drop: fc.nat(2),
      put: fc.string({ unit: letters, maxLength: 2 }),
    });
    const isOnly = fc.property(states, edits, (state, { at, drop, put }) => {
      const text = codec.encode(state as never);
      const place = 3 + at % (text.length - 3);
      const other = text.slice(0, place) + put + text.slice(place + drop);
      const read = codec.decode(other);
      if (read !== undefined) assert.equal(codec.encode(read), other);
    });
    fc.assert(isOnly, fcOptions({ numRuns: 1_000 }));
  });

  test("holds no more receipts than a key remembers", () => {
    for (const [most, receipt] of [[64, "1@5*1:1,2"], [16, "1@5*1"]] as const) {
      for (const [receipts, reads] of [[most, true], [most + 1, false]] as const) {
        const text = `r1 0 ${receipts} ${`${receipt} `.repeat(receipts)}t1 1790000000000`;
        assert.equal(codec.decode(text) !== undefined, reads);
      }
    }
  });

  test("has its receipts in one order", () => {
    const text = "r1 0 3 1@5*1 2@5*1:1,2 3@6*1 t1 1790000000000";
    const read = codec.decode(text) as unknown as Noted;
    assert.deepEqual(read.entries.settled, [5, 1, 1, 6, 3, 1]);
    for (
      const other of [
        "r1 0 3 2@5*1:1,2 1@5*1 3@6*1 t1 1790000000000",
        "r1 0 3 1@5*1 3@6*1 2@5*1:1,2 t1 1790000000000",
        "r1 0 2 1@5*1 2@5*1:1,2 3@6*1 t1 1790000000000",
        "r1 0 4 1@5*1 2@5*1:1,2 3@6*1 t1 1790000000000",
        "r1 0 3 1@5*1 2@5*1:1 3@6*1 t1 1790000000000",
        "r1 0 3 1@5*1 2@5*1:1,2,3 3@6*1 t1 1790000000000",
        "r1 0 0 t1 1790000000000",
        "r1 0 1 1@5*9007199254740992 t1 1790000000000",
        "r1 0 1 1@5*1 t1",
        "r1 0 1 1@5*1",
        "r1 0 1",
        "r1 ",
      ]
    ) {
      assert.equal(codec.decode(other), undefined, other);
    }
  });
});
