import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Pool,
  poolOfBlocks,
  poolOfNodes,
  putChain,
  takeChain,
} from "../../../../stores/shared/allocator/pool.ts";
import { attachMemory, type Memory } from "../../../../stores/shared/layout.ts";
import { sharedStore } from "../../../../stores/shared/shared_store.ts";
import { observedMemory, whereObserved, type Words } from "../support/observed_memory.ts";

const kinds: Readonly<Record<string, (memory: Memory) => Pool>> = {
  blocks: poolOfBlocks,
  nodes: poolOfNodes,
};

type Operation = (array: object, index: number, ...rest: unknown[]) => unknown;

/** A memory that calls `before` before each access. */
function stepped(memory: Memory, before: () => void): Memory {
  return observedMemory(memory, (array: Words) => (what, index, ...rest) => {
    before();
    if (what === "get") return array[index];
    if (what === "set") return (array as { [index: number]: unknown })[index] = rest[0];
    return (Atomics as unknown as Record<string, Operation>)[what]!(array, index, ...rest);
  });
}

for (const [kind, poolOf] of Object.entries(kinds)) {
  test(`a chain of ${kind} that is taken and put back meanwhile is not the one that was seen`, () => {
    whereObserved(() => {
      for (let stop = 0, steps = 1; stop < steps; stop++) {
        const { handle } = sharedStore({ capacity: 100, maxBytes: 128 * 100, threads: 1 });
        const memory = attachMemory(handle.buffer);
        const pool = poolOf(memory);
        for (const chain of [[1, 2], [3, 4], [5, 6]]) putChain(pool, chain);
        const theirs: number[] = [];
        let step = 0;
        const seen = poolOf(stepped(memory, () => {
          if (step++ !== stop) return;
          // The chain on top comes back, without the chain that was below it.
          const top = takeChain(pool);
          theirs.push(...takeChain(pool));
          putChain(pool, top);
        }));
        const mine = takeChain(seen);
        steps = Math.max(steps, step);
        const all = [...mine, ...theirs];
        for (let rest = takeChain(pool); rest.length > 0; rest = takeChain(pool)) all.push(...rest);
        const expected = [1, 2, 3, 4, 5, 6];
        assert.deepEqual(all.sort((a, b) => a - b), expected, `step ${stop}`);
      }
    });
  });
}
