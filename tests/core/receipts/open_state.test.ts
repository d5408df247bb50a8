import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";

import { NO_CALL_SINCE } from "../../../core/arithmetic/returns.ts";
import { openState, openStateCodec } from "../../../core/receipts/open_state.ts";
import { gcra } from "../../../mod.ts";
import { fcOptions } from "../../support/seed.ts";

const codec = openStateCodec(gcra({ limit: 10, period: "1s", burst: 10 }).codec as never, 4);
const lag = fc.oneof(fc.nat(9), fc.nat(1e9), fc.constant(NO_CALL_SINCE));
const run = fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 4 }), fc.nat(9_999), lag);

/** States with open receipts, as calls lead to them and as nobody but a fuzzer makes them. */
const states = fc.tuple(
  fc.integer({ min: 1, max: 2 ** 53 - 1 }),
  fc.nat(3),
  fc.array(run, { minLength: 1, maxLength: 9 }),
).map(([id, later, runs]) => {
  const open: number[] = [];
  let [last, end] = [0, 1_790_000_000_000];
  for (const [gap, length, wait, lag] of runs) {
    end += wait;
    open.push(last + gap, last + gap + length, end, lag);
    last += gap + length;
  }
  return openState(1_790_000_000_000, id, last + later, open);
});

describe("the text of a key with open receipts", () => {
  test("reads as the same state, and so do its words", () => {
    const words = new Float64Array(codec.maxWords + 2);
    const reads = fc.property(states, (state) => {
      assert.deepEqual(codec.decode(codec.encode(state)), state);
      assert.deepEqual(codec.read(words, 2, codec.write(state, words, 2)), state);
    });
    fc.assert(reads, fcOptions());
  });

  test("is the only text of that state", () => {
    const letters = fc.constantFrom(..."0123459 -.,rt");
    const edits = fc.record({
      at: fc.nat(400),
      drop: fc.nat(2),
      put: fc.string({ unit: letters, maxLength: 2 }),
    });
    const isOnly = fc.property(states, edits, (state, { at, drop, put }) => {
      const text = codec.encode(state);
      const place = 3 + at % (text.length - 3);
      const other = text.slice(0, place) + put + text.slice(place + drop);
      const read = codec.decode(other);
      if (read !== undefined) assert.equal(codec.encode(read), other);
    });
    fc.assert(isOnly, fcOptions());
  });

  test("that is cut or too long is of no state", () => {
    for (const text of ["r1 ", "r1 2 1 1 t1 5", "r1 6 1 1 0 0 5 0 t1 5", "r1 6 0 1 0 1 5 0 t1 5"]) {
      assert.equal(codec.decode(text), undefined, text);
    }
    const runs = Array.from({ length: 257 }, () => "1 1 0 0").join(" ");
    assert.equal(codec.decode(`r1 ${2 + 4 * 257} 1 999 ${runs} t1 5`), undefined);
  });
});
