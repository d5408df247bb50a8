import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { type Algorithm, all, gcra, limiter, reservable, reserve, settle } from "../../../mod.ts";
import type { Nodes } from "../../../stores/shared/allocator/nodes.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import type { StateLayout } from "../../../stores/shared/states/block_layout.ts";
import { TORN } from "../../../stores/shared/states/stored_timeline.ts";
import { textLayout } from "../../../stores/shared/states/text_layout.ts";

const sound = gcra({ limit: 5, period: "1m", burst: 5 }) as Algorithm;

/** An algorithm of somebody's own, whose texts begin with `letters`. */
function ownAlgorithm(letters: string): Algorithm {
  const { codec } = sound;
  return {
    ...sound,
    id: "own",
    internals: undefined,
    codec: {
      ...codec,
      encode: (state) => letters + codec.encode(state),
      decode: (text) =>
        text.startsWith(letters) ? codec.decode(text.slice(letters.length)) : undefined,
    },
  };
}

/**
 * The units that each part has left after a receipt of 3 units was settled at 2, beside an open one of
 * 1 unit. An algorithm of somebody's own gives nothing back.
 */
function leftAfterSettling(letters: string): readonly number[] {
  const store = sharedStore({ capacity: 100, maxBytes: 2 ** 24 });
  const algorithm = reservable(all(ownAlgorithm(letters), sound));
  const api = limiter(algorithm, { store, prefix: "api", clock: () => 1_790_000_000_000 });
  const { receipt } = reserve(api, "key", 3);
  reserve(api, "key", 1);
  settle(api, "key", receipt!, 2);
  const { parts } = api.peek("key", 0);
  store.close();
  return parts!.map(({ remaining }) => remaining);
}

describe("a shared store keeps the text of a state with open receipts", () => {
  for (
    const letter of ["a", "\u0000", "\u00e9", "\u7fff", "\u8000", "\uffff", "\ud83d", "\u{1f600}"]
  ) {
    test(`of any letters: ${JSON.stringify(letter)}`, () => {
      assert.deepEqual(leftAfterSettling(letter.repeat(61)), [1, 2]);
    });
  }

  test("of any length up to three nodes", () => {
    for (let length = 0; length < 180; length++) {
      assert.deepEqual(leftAfterSettling("\u00e9".repeat(length)), [1, 2], `${length} letters`);
    }
  });

  test("of millions of letters", () => {
    assert.deepEqual(leftAfterSettling("\u00e9".repeat(2_500_001)), [1, 2]);
  });
});

test("a text that another thread overwrites is read no further than its nodes go", () => {
  const [isText, length, root] = [8, 12, 14];
  const ints = new Int32Array(16 + 4 * 32);
  const memory = { ints, blocks: 0, lastNode: 3 };
  const nodes = { memory, at: (node: number) => 16 + 32 * node } as unknown as Nodes;
  const held = reservable(sound);
  const algorithm = { ...held, codec: { ...held.codec, decode: (text: string) => text.length } };
  const { load } = textLayout(nodes, algorithm, {} as StateLayout);
  ints[isText] = 3;
  ints[root] = 2;
  for (const units of [0, 1, 59, 60]) {
    ints[length] = units;
    assert.equal(load(1), units);
  }
  for (const units of [-1, 61, 181, 2 ** 31 - 1]) {
    ints[length] = units;
    assert.throws(() => load(1), (error) => error === TORN);
  }
  ints[16 + 32 * 2] = 2;
  ints[length] = 181;
  assert.throws(() => load(1), (error) => error === TORN);
});
