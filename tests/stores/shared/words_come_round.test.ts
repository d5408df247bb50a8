import assert from "node:assert/strict";
import { test } from "node:test";
import { type Algorithm, gcra, type Limiter } from "../../../mod.ts";
import {
  attachMemory,
  BUCKET,
  type Memory,
  SLOTS_PER_BUCKET,
} from "../../../stores/shared/layout.ts";
import { sharedStore } from "../../../stores/shared/shared_store.ts";
import { settleMark, swapAll } from "../../../stores/shared/table/multi_swap.ts";
import { openThreadStore } from "../../../stores/shared/thread_store.ts";
import { attachThread, lockOwnRecord, type Thread } from "../../../stores/shared/threads/thread.ts";
import { upTo } from "../../support/seed.ts";
import { audit, NOTHING } from "./support/audit.ts";
import { keysOfHome, withFixedHash } from "./support/homes.ts";
import { limiterOn, NOW } from "./support/limiter_on.ts";
import { steppedMemory } from "./support/stepped.ts";
import { whereObserved } from "./support/observed_memory.ts";

const HOUR = 3_600_000;
const LIMIT = 1_000;
/** No call takes as many steps. */
const MOST_STEPS = 1_000;
const algorithm = gcra({ limit: LIMIT, period: HOUR, burst: LIMIT }) as Algorithm;
const STOPPED = new Error("stopped");

/** A store with few spare blocks, whose slots have four versions, so that words soon come round. */
function narrowStore() {
  const { handle } = withFixedHash(sharedStore({ capacity: 20, threads: 4, maxBytes: 0 }));
  const narrow = { lastBlock: 22, firstMark: 23, blockMask: 2 ** 30 - 1 };
  return { handle, memory: { ...attachMemory(handle.buffer), ...narrow } };
}

test("a key is not put over one that has come into the slot of a fresh one, under the same word", () => {
  let rounds = 0;
  whereObserved(() => {
    for (const stop of upTo(MOST_STEPS)) {
      const { hasCome, isOver } = insertedOverFresh(stop);
      if (hasCome) rounds++;
      if (isOver) break;
    }
  });
  assert.ok(rounds > 0, "no word came round");
});

/**
 * Stops a thread at a step as it puts its key into the slot of a fresh one, while another key comes
 * there: whether its word came round, and whether the call was over before.
 */
function insertedOverFresh(stop: number): { readonly hasCome: boolean; readonly isOver: boolean } {
  const { handle, memory } = narrowStore();
  const clock = { value: NOW };
  const limiterIn = (memory: Memory) =>
    limiterOn(openThreadStore(memory), algorithm, () => clock.value);
  const other = limiterIn(memory);
  // The home of the new key is full, so that its place is in the next bucket.
  const [mine, ...held] = keysOfHome(handle, algorithm, 0, 1 + SLOTS_PER_BUCKET) as [string];
  const [old, beside, theirs] = keysOfHome(handle, algorithm, 1, 3) as [string, string, string];
  const turns = { units: 0, hasCome: false };
  let step = -1;
  const stepped = steppedMemory(memory, () => {
    if (step < 0 || step++ !== stop) return;
    Object.assign(turns, takeTurns(other, theirs, memory, memory.buckets + BUCKET));
  });
  const own = limiterIn(stepped);
  // This leaves a block to spare, whatever the other thread takes.
  own.consume(mine);
  own.reset(mine);
  other.consume(old);
  for (const key of [beside, ...held]) other.consume(key, LIMIT);
  clock.value += 10_000;
  step = 0;
  own.consume(mine);
  const isOver = step <= stop;
  step = -1;
  assert.equal(LIMIT - other.peek(theirs, 0).remaining, turns.units, `step ${stop}`);
  assert.equal(LIMIT - other.peek(mine, 0).remaining, 1, `step ${stop}`);
  assert.deepEqual(audit(handle), NOTHING, `step ${stop}`);
  return { hasCome: turns.hasCome, isOver };
}

/** Puts a key over the fresh one, and changes it until the slot holds the same word. */
function takeTurns(api: Limiter, key: string, { ints }: Memory, slot: number) {
  const word = ints[slot];
  let units = 0;
  for (let turn = 0; turn < 200 && (turn === 0 || ints[slot] !== word); turn++) {
    // Each call takes another block; one after a reset turns the version twice.
    if (Math.clz32(turn & -turn) % 3 === 0) {
      api.reset(key);
      units = 0;
    }
    api.consume(key);
    units++;
  }
  return { units, hasCome: ints[slot] === word };
}

test("a mark is not taken for the same one of a later batch", () => {
  let rounds = 0;
  whereObserved(() => {
    for (let stop = 0, steps = 1; stop < steps; stop++) {
      const { memory } = narrowStore();
      const slot = memory.buckets;
      const other = lockedThread(memory);
      const batching = lockedThread(memory);
      /** Leaves the mark of a batch that would put a block into the slot. */
      const mark = (block: number) => stopAfterMarks(memory, batching, slot, block);
      memory.ints[slot] = 1;
      const first = mark(2);
      let step = 0;
      const own = lockedThread(memory, () => {
        if (step++ !== stop) return;
        // The batch is aborted; two changes later the next one takes the slot.
        settleMark(other, slot, memory.ints[slot]!);
        memory.ints[slot] = 4;
        if (mark(5) === first) rounds++;
      });
      step = 0;
      settleMark(own, slot, first);
      steps = Math.max(steps, step);
      if (stop >= step) continue;
      const word = memory.ints[slot]!;
      if ((word & memory.blockMask) > memory.lastBlock) settleMark(other, slot, word);
      // Neither batch was committed: the slot holds its word from before the second.
      assert.equal(memory.ints[slot], 4, `step ${stop}`);
    }
  });
  assert.ok(rounds > 0, "no mark came round");
});

/** A thread in a call; `before` is called at each of its steps. */
function lockedThread(memory: Memory, before?: () => void): Thread {
  const thread = attachThread(before === undefined ? memory : steppedMemory(memory, before));
  lockOwnRecord(thread);
  return thread;
}

/** Stops a batch of one slot once it has put its mark there, which is answered. */
function stopAfterMarks(memory: Memory, thread: Thread, slot: number, block: number): number {
  const before = memory.ints[slot]!;
  const stepped = steppedMemory(memory, () => {
    if (memory.ints[slot] !== before) throw STOPPED;
  });
  assert.throws(
    () => swapAll({ ...thread, memory: stepped }, [{ slot, before, block }]),
    STOPPED,
  );
  return memory.ints[slot]!;
}
