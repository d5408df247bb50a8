import type { Fault } from "../fault.ts";

const TABLE = "stores/shared/table/table.ts";
const INSERT = "stores/shared/table/insert.ts";
const DECIDE = "stores/shared/decide.ts";
const DROP = "stores/shared/table/drop_keys.ts";
const BATCH = "stores/shared/table/multi_swap.ts";
const TIMELINE = "stores/shared/states/stored_timeline.ts";
const TREE = "stores/shared/states/segment_tree.ts";
const SPARES = "stores/shared/memory/spare_blocks.ts";
const NODES = "stores/shared/memory/nodes.ts";
const TOTALS = "stores/shared/states/running_totals.ts";

/** Faults of the store that threads share. */
export const SHARED_FAULTS: readonly Fault[] = [
  {
    what: "A swap that does not compare: a call overwrites what another has just taken",
    file: DECIDE,
    search: "if (Atomics.compareExchange(ints, slot, word, changed) === word) {",
    replace: "Atomics.store(ints, slot, changed);\n          if (slot > 0) {",
    laws: ["threads on a sharedStore"],
  },
  {
    what: "A batch that commits though another was faster at one of its keys",
    file: BATCH,
    search: "(marked === -1 ? COMMITTED : ABORTED)",
    replace: "COMMITTED",
    laws: ["threads on a sharedStore"],
  },
  {
    what: "A key in use that makes room for another, though others are fresh",
    file: INSERT,
    search: "if (freshAt <= now) {",
    replace: "if (freshAt <= now + 1e15) {",
    laws: ["sharedStore"],
  },
  {
    what: "A fingerprint of which only half is compared where a key is looked for",
    file: DECIDE,
    search: "(ints[start]! & ~3) === low && ints[start + 1] === high",
    replace: "block !== 0",
    laws: ["sharedStore"],
  },
  {
    what: "A key that is forgotten only in its tag",
    file: TABLE,
    search: "if (!removeKey(table, found.slot, found.word)) return false;",
    replace: "",
    laws: ["sharedStore"],
  },
  {
    what: "A range sum that leaves out a child of the root",
    file: TREE,
    search: "for (let child = 1; child <= count; child++) {",
    replace: "for (let child = 1; child < count; child++) {",
    laws: ["sharedStore"],
  },
  {
    what: "A tree that is too small for its window",
    file: TIMELINE,
    search: "while (entries > (RING - 1) * span + 1) {",
    replace: "while (entries > RING * RING * span) {",
    laws: ["sharedStore"],
  },
  {
    what: "A sum of the tree that is set where it should be added to",
    file: TREE,
    search: "ints[at + branch]! += units;\n    if (level === 0) return root;",
    replace: "ints[at + branch] = units;\n    if (level === 0) return root;",
    laws: ["sharedStore"],
  },
  {
    what: "A tree that is changed in place, by calls that lose the race too",
    file: TREE,
    search: "const root = nodes.copy(old);",
    replace: "const root = old;",
    laws: ["threads on a sharedStore"],
  },
  {
    what: "Units beside a tree's root that are forgotten when the next slot begins",
    file: TREE,
    search: "if (tree.pending > 0) addTo(shape, root, before, tree.pending);",
    replace: "",
    laws: ["windows of a sharedStore"],
  },
  {
    what: "A log that is searched one entry too far",
    file: TOTALS,
    search: "if (this.read(middle, column) < value) low = middle + 1;",
    replace: "if (this.read(middle, column) <= value) low = middle + 1;",
    laws: ["windows of a sharedStore"],
  },
  {
    what: "A log of which a stride goes too far",
    file: TOTALS,
    search: "while (low + stride < high && this.read(low + stride, column) < value) {",
    replace: "while (low + stride < high && this.read(low, column) < value) {",
    laws: ["windows of a sharedStore"],
  },
  {
    what: "A log whose closed bucket is not written",
    file: TOTALS,
    search: "append(shape, root, base.tail, base.newest, base.total);",
    replace: "",
    laws: ["sharedStore"],
  },
  {
    what: "A log that drops live entries with the old ones",
    file: TOTALS,
    search: "if (group * span < tail && (group + 1) * span > head) continue;",
    replace: "if (group * span < tail && group * span > head) continue;",
    laws: ["sharedStore"],
  },
  {
    what: "A ring of spare blocks without a bound: one block for two keys",
    file: SPARES,
    search: "push(block);\n      passOn(thread, pool);\n    },",
    replace: "push(block);\n    },",
    laws: ["memory of a sharedStore"],
  },
  {
    what: "A place that a forgotten key keeps",
    file: DROP,
    search: "if (drop(now, true)) Atomics.sub(ints, header.keys, 1);",
    replace: "if (drop(now, true));",
    laws: ["memory of a sharedStore"],
  },
  {
    what: "Nodes that are lost with a call that is not admitted",
    file: NODES,
    search: "while (made.size() > 0) keep(made.pop());",
    replace: "made.clear();",
    laws: ["memory of a sharedStore"],
  },
];
