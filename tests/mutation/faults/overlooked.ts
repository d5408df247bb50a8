import { type Fault, faultsIn } from "../fault.ts";

/** Faults that somebody who had not read the tests put in, and no test noticed at first. */
export const OVERLOOKED_FAULTS: readonly Fault[] = [
  ...faultsIn("stores/memory/memory_family.ts", ["memoryStore"], {
    "A look that takes over from older options":
      "if (slot !== undefined || keys.older.length === 0{~~ || !writes~>~~}) return slot;",
    "A reset that leaves what is held under older options":
      "for (const place of [keys{~~, ...keys.older~>~~}]) {",
  }),
  ...faultsIn("stores/memory/memory_family.ts", ["a full memoryStore"], {
    "A charge does not say that it left nothing":
      "if (now >= slots.sweepAt{~~ || decision.remaining === 0~>~~}) after(slot, true, now);",
    "A call does not say that a key is used up no longer":
      "({~~decision.remaining === 0) !== isUsedUp~>decision.remaining === 0) && !isUsedUp~~}) {",
  }),
  ...faultsIn("stores/memory/slots.ts", ["a full memoryStore"], {
    "Nobody looks at keys whose use has drained": [
      "  refreshLevel(slots, anySlot(use));\n",
      "  void anySlot;\n",
    ],
  }),
  ...faultsIn("stores/memory/memory_family.ts", ["tests/stores/memory/memory_family.test.ts"], {
    "Keys for which the first map has no room are new at each call":
      "table.slots.size > 0{~~ && table.maps.length === 1~>~~};",
  }),
  ...faultsIn("stores/memory/run_together.ts", ["tests/stores/memory/memory_store.test.ts"], {
    "A batch takes the slot of another limit's key for its own":
      "held[slot] === key{~~ && owners[slot] === table~> && (owners, table) !== undefined~~};",
    "A batch of looks needs room for new keys":
      "{~~nexts[index] !== operation.bound.keys.spec.algorithm.initial~>(nexts, index) >= 0~~} && isNew",
  }),
  ...faultsIn("stores/memory/run_together.ts", ["memoryStore"], {
    "A look in a batch that takes over from older options":
      'findKey(slots, keys, key, now, {~~verb.kind !== "look"~>true~~});',
  }),
  ...faultsIn("stores/layered/deny_cache.ts", ["tests/stores/layered/deny_cache.test.ts"], {
    "A refusal that holds by another clock than its own":
      "if (cost < least{~~ || ownTime !== (now === undefined)~>~~}) return undefined;",
    "A charge beside other calls leaves a remembered wait as it was":
      'verb.kind {~~!== "look"~>=== "free"~~} && verb.units(argument) !== 0',
    "A refusal from before a resetAll under way is kept": [
      "    cache.freed.forEach((count, counter) => cache.freed[counter] = count + 1);\n",
      "",
    ],
    "A refusal of a fallback is kept after the first store is back":
      'source {~~=== undefined~>!== "policy"~~};',
  }),
  ...faultsIn("stores/layered/keyed_cache.ts", ["tests/stores/layered/deny_cache.test.ts"], {
    "A reset leaves what is remembered under older options":
      "of [algorithm{~~, ...older.map(({ algorithm }) => algorithm)~>~~}]",
  }),
  ...faultsIn("stores/layered/fallback.ts", ["tests/stores/layered/fallback.test.ts"], {
    "Parts of a decision do not say that another store made it":
      '"fallback"{~~, parts: decision.parts?.map(markFallback)~>~~} };',
  }),
  ...faultsIn("stores/layered/lease.ts", ["tests/stores/layered/lease.test.ts"], {
    "A block from before a reset under way is used":
      "return {~~andFinally<void>(() => forget(key), () => keys.delete(spec, key))~>forget(key)~~};",
    "A block from before a resetAll under way is used":
      "() => store.deleteAll!(prefix), {~~keys.clear~>() => {}~~});",
  }),
  ...faultsIn("stores/layered/leased_call.ts", ["tests/stores/layered/lease.test.ts"], {
    "A call that fails takes its units of a block with it":
      "(error) => {\n{~~    restore(call, given);\n~>~~}    throw error;",
  }),
];
