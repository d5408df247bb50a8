import assert from "node:assert/strict";
import { test } from "node:test";

import { keyFamily } from "../../../core/stored_key.ts";
import { consume } from "../../../core/verbs/consume.ts";
import { gcra, slidingLog } from "../../../mod.ts";
import { memoryFamily } from "../../../stores/memory/memory_family.ts";
import { openSlots } from "../../../stores/memory/slots.ts";
import { emptyTable } from "../../../stores/memory/table.ts";

for (
  const algorithm of [
    gcra({ limit: 3, period: "1m", burst: 3 }),
    slidingLog({ limit: 3, period: "1m" }),
  ]
) {
  test(`${algorithm.name}: calls find the keys for which the first map has no room`, () => {
    const slots = openSlots({ maxKeys: 100, maxBytes: 100_000, onFull: "throw" });
    const name = keyFamily("p", algorithm.id);
    slots.tables.set(
      name,
      emptyTable(name, typeof algorithm.initial === "number", algorithm, 0, 2),
    );
    const { call } = memoryFamily(slots, { prefix: "p", algorithm, older: [] }).bind(consume);
    for (const left of [2, 1, 0]) {
      for (const key of ["a", "b", "c", "d", "e"]) assert.equal(call(key, 1, 0).remaining, left);
    }
    assert.equal(slots.queue.size, 5);
  });
}
