import { type Fault, faultsIn } from "../fault.ts";

/** Faults of the store that threads share. */
export const SHARED_FAULTS: readonly Fault[] = [
  ...faultsIn("stores/shared/decide.ts", ["threads on a sharedStore"], {
    "A swap that does not compare: a call overwrites what another has just taken": [
      "if (Atomics.compareExchange(ints, slot, word, changed) === word) {",
      "Atomics.store(ints, slot, changed);\n          if (slot > 0) {",
    ],
  }),
  ...faultsIn("stores/shared/table/multi_swap.ts", ["threads on a sharedStore"], {
    "A batch that commits though another was faster at one of its keys": [
      "(marked === -1 ? COMMITTED : ABORTED)",
      "COMMITTED",
    ],
  }),
  ...faultsIn("stores/shared/table/insert.ts", ["sharedStore"], {
    "A key in use that makes room for another, though others are fresh":
      "if (freshAt <= now{~~~> + 1e15~~}) {",
  }),
  ...faultsIn("stores/shared/table/insert.ts", ["tests/stores/shared/words_come_round.test.ts"], {
    "A new key that takes the slot of a fresh one without a second look": [
      "if (wordAt(memory, slot) !== word || freshAtOf(memory, old) > now) return false;",
      "",
    ],
  }),
  ...faultsIn("stores/shared/table/insert.ts", ["tests/stores/shared/full_buckets.test.ts"], {
    "A full store that drops a key for one that another thread inserted":
      "isMade = {~~Atomics.load(ints, seen.bucket + INTENT) === mine && ~>~~}makePlace(now);",
  }),
  ...faultsIn("stores/shared/table/multi_swap.ts", [
    "tests/stores/shared/words_come_round.test.ts",
  ], {
    "A mark that is settled without being announced": ["  announce(thread, mark);\n", ""],
  }),
  ...faultsIn("stores/shared/decide.ts", ["sharedStore"], {
    "A fingerprint of which only half is compared where a key is looked for": [
      "(ints[start]! & keyBits) === low && ints[start + 1] === high",
      "block !== 0",
    ],
  }),
  ...faultsIn("stores/shared/table/table.ts", ["sharedStore"], {
    "A key that is forgotten only in its tag": [
      "const isRemoved = Atomics.compareExchange(ints, slot, word, next) === word;",
      "const isRemoved = true;",
    ],
  }),
  ...faultsIn("stores/shared/states/segment_tree.ts", ["sharedStore"], {
    "A range sum that leaves out a child of the root":
      "for (let child = 1; child <{~~=~>~~} count; child++) {",
  }),
  ...faultsIn("stores/shared/states/ring_tree.ts", ["sharedStore"], {
    "A sum of the tree that is set where it should be added to":
      "ints[at + branch]{~~! +~> ~~}= added;",
  }),
  ...faultsIn("stores/shared/states/ring_tree.ts", ["tests/stores/shared/laws.test.ts"], {
    "A tree that is too small for its window":
      "while (items > {~~(RING - 1) * span + 1~>RING * RING * span~~}) {",
  }),
  ...faultsIn("stores/shared/states/segment_tree.ts", ["windows of a sharedStore"], {
    "A tree that is changed in place, by calls that lose the race too":
      "const root = {~~tree.nodes.copy(old)~>old~~};",
    "Units beside a tree's root that are forgotten when the next bucket begins": [
      "if (pending > 0) addTo(tree, root, before, pending);",
      "",
    ],
  }),
  ...faultsIn("stores/shared/states/ring_tree.ts", ["windows of a sharedStore"], {
    "A tree that drops live items with the old ones":
      "if (group >{~~=~>~~} Math.floor(first / span) && group * span <= last) continue;",
  }),
  ...faultsIn("stores/shared/states/running_totals.ts", ["windows of a sharedStore"], {
    "A log that is searched one entry too far":
      "if (this.read(middle, column) <{~~~>=~~} value) low = middle + 1;",
    "A log of which a stride goes too far":
      "while (low + stride < high && this.read(low{~~ + stride~>~~}, column) < value) {",
  }),
  ...faultsIn("stores/shared/states/running_totals.ts", ["sharedStore"], {
    "A log whose closed bucket is not written": [
      "append(tree, root, tail++, old.newest, old.total);",
      "tail++;",
    ],
  }),
  ...faultsIn("stores/shared/allocator/spare_blocks.ts", ["memory of a sharedStore"], {
    "A ring of spare blocks without a bound: one block for two keys":
      "push(block);\n    {~~  passOn(thread, pool);\n    ~>~~}},",
  }),
  ...faultsIn("stores/shared/table/table.ts", ["memory of a sharedStore"], {
    "A key that stays counted when it is forgotten": [
      "  Atomics.sub(ints, header.keys, 1);\n",
      "",
    ],
  }),
  ...faultsIn("stores/shared/allocator/nodes.ts", ["memory of a sharedStore"], {
    "Nodes that are lost with a call that is not admitted": [
      "while (made.size() > 0) keep(made.pop());",
      "made.clear();",
    ],
  }),
];
