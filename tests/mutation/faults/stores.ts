import { type Fault, faultsIn } from "../fault.ts";

/** Faults of the stores. */
export const STORE_FAULTS: readonly Fault[] = [
  ...faultsIn("stores/memory/make_room.ts", ["memoryStore"], {
    "The memory store drops keys that hold use":
      "if ({~~cells[2 * hand + 1]! + FRESH_GRACE <= now~>true~~}) {\n      dropSlot(slots, hand);",
  }),
  ...faultsIn("stores/memory/memory_family.ts", ["memoryStore"], {
    "The memory store's `delete` does nothing":
      "if ({~~slot !== undefined~>false~~}) dropSlot(slots, slot);\n      }\n    },\n    nameOf",
    "The memory store keeps its own time where it is given one":
      "const now = at === undefined ? processTime() : {~~at~>processTime()~~};\n    const slot = slotOf(",
    "A look under older options that sees none":
      "if ({~~older.length === 0~>true~~}) return spec.algorithm.initial;",
  }),
  ...faultsIn("stores/memory/slots.ts", ["memoryStore"], {
    "The memory store answers after it is closed":
      "{ evictions, unreadable, closed: {~~true~>false~~} }",
  }),
  ...faultsIn("stores/memory/make_room.ts", ["a full memoryStore"], {
    "A full memory store forgets the key that is fresh first, not the one with the least use":
      "const left = freshAt <= now ? ALL : {~~leftOf(freshAt)~>1 / freshAt~~};",
    "A full memory store forgets the first key that it looks at":
      "if (left > mostLeft{~~~> && mostLeft < 0~~}) [found, mostLeft]",
  }),
  ...faultsIn("stores/memory/make_room.ts", ["tests/stores/memory/make_room.test.ts"], {
    "A full memory store looks at no others than those under the hand":
      "const others = {~~length > stride ? OTHERS : 0~>0~~};",
    "A full memory store looks at none but a few keys where these are used up":
      "step < most && {~~mostLeft <= USED_UP~>false~~}; step++)",
    "A fresh key is dropped while its own state grows":
      "makeRoom(slots, () => ({ keys: 0, bytes: grown }), now{~~, slot~>~~});",
    "The hand stops where it finds keys to drop": "slots.rest = {~~0~>REST~~};\n    }",
    "A walk in vain is as long the next time": "Math.max(STRIDE, slots.mostSteps{~~ >>> 1~>~~});",
    "A full store that must not evict looks at all keys for each call":
      "slots.fullUntil = {~~earliest~>now~~};",
  }),
  ...faultsIn("stores/memory/slots.ts", ["tests/stores/memory/make_room.test.ts"], {
    "A full store does not see that a key is fresh earlier":
      "if ({~~freshAt < slots.fullUntil~>false~~}) slots.fullUntil = freshAt;",
  }),
  ...faultsIn("stores/memory/make_room.ts", ["tests/stores/memory/max_bytes.test.ts"], {
    "A state that grows is not counted":
      "const size = slots.sizes[slot]! + {~~grown~>0~~};\n  if (grown > 0) {",
    "A log that grows leaves a full store with too much":
      "if ({~~lacksRoom(slots, 0, grown)~>false~~}) makeRoom(",
    "A long key empties the store": "if (bytes <= {~~maxBytes / 2~>Infinity~~}) return bytes;",
  }),
  ...faultsIn("stores/memory/slots.ts", ["tests/stores/memory/max_bytes.test.ts"], {
    "A key that goes leaves its bytes behind": "slots.bytes -= {~~sizes[slot]!~>0~~};",
  }),
  ...faultsIn("stores/memory/run_together.ts", ["memoryStore"], {
    "A batch on the memory store that writes nothing":
      "const writes = next {~~!~>=~~}== held && verb.kind",
    "A batch on the memory store that is fresh at once":
      "instants.push(writes ? {~~freshAfter(own, next, verb.decisionOf(answers[index]), now)~>now~~} : NaN);",
  }),
  ...faultsIn("core/steady_time.ts", ["tests/core/steady_time.test.ts"], {
    "Time does not go on where the wall clock is set back":
      "return isBack ? Math.max(last, {~~passed~>0~~}) : shown;",
    "Time is what the wall clock shows, wherever that is set":
      "return {~~isBack~>false~~} ? Math.max",
  }),
  ...faultsIn("core/arithmetic/fresh_instant.ts", ["a full memoryStore"], {
    "A key in debt counts as one with use left": "return {~~decision.debt <= 0~>true~~} && ",
  }),
  ...faultsIn("core/arithmetic/whole_arrival_time.ts", [
    "tests/core/arithmetic/whole_arrival_time.test.ts",
  ], {
    "A refund in its place that leaves a key without use":
      "if (next <{~~=~>~~} tick) return undefined;",
  }),
  ...faultsIn("core/stored_key.ts", ["memoryStore"], {
    "A key with a brace in it is another limiter's":
      "return `${escapedKey(prefix)}:{${{~~escapedKey(key)~>key.replaceAll('}', '{')~~}}}:${id}`;",
  }),
  ...faultsIn("stores/redis/commit/watch_commit.ts", ["redisStore by watch"], {
    "A WATCH that is not sent": ['    ["WATCH", ...names],\n', ""],
    "A lost race that is taken for a commit":
      "if (result === null) return {~~tryAgain~>answer~~}(waiting);",
    "Callers are answered before the commit":
      "if (changes.length === cells.length) return [{~~decided, []~>[], decided~~}];",
    "One of the changes of a batch is not written":
      "for (const cell of {~~changes~>changes.slice(0, 1)~~}) commands.push(",
    "A key in Redis that is not deleted when all its use is given back":
      'return ["{~~DEL~>EXISTS~~}", name];',
  }),
  ...faultsIn("stores/redis/commit/compare_and_set.ts", ["redisStore by cas"], {
    "Compare and set that does not compare":
      "if {~~claimed or text ~= ARGV[at]~>false~~} then same = false end",
    "Compare and set that compares only the first key of a batch":
      "for place = key, {~~last~>key~~} do\n    local text, claimed",
  }),
  ...faultsIn("stores/redis/commit/cas_commit.ts", ["redisStore by cas"], {
    "Calls by compare and set that are answered though their guess was wrong": [
      "    lost.add(root);\n",
      "",
    ],
  }),
  ...faultsIn("stores/redis/commit/script_commit.ts", ["redisStore by script"], {
    "Calls by script that are decided over nothing":
      "loadCell(cell, {~~held[index] ?? undefined~>undefined~~}, undefined);",
  }),
  ...faultsIn("stores/redis/script/state_transitions.ts", ["redisStore by script"], {
    "Units given back by the script that leave a window one unit short":
      "return {~~left > 0~>left > 1~~} and { use[1], left } or initial",
    "A part of several that is charged by the script although another one refuses":
      "elseif cost > 0 and not charges then {~~return states~>isChanged = isChanged~~} end",
    "Calls that the script takes at once, one more than fit":
      "if asked > room then asked = {~~room~>room + taken~~} - room % taken end",
    "Use in the window before that the script lets fade too early":
      "return limit - {~~ceil~>floor~~}(previous * left / period) - current",
  }),
  ...faultsIn("stores/redis/script/script_arguments.ts", ["redisStore by script"], {
    "Units that the script takes instead of giving them back":
      "return sign === 0 ? 0 : {~~sign~>1~~} * verb.units(argument);",
  }),
  ...faultsIn("stores/redis/commit/script_commit.ts", [
    "tests/stores/redis/batches/batching.test.ts",
  ], {
    "Calls on one key that are committed in two ways at once":
      "if (canRun(job) && (keys.size === 0 || !{~~cellsOf(job, cells).some((cell) => keys.has(cell))~>false~~})) {",
  }),
  ...faultsIn("stores/redis/commit/claims.ts", ["tests/stores/redis/batches/claims.test.ts"], {
    "A claim that nobody honours":
      "return first !== undefined && {~~first.owner !== owner~>false~~};",
  }),
  ...faultsIn("stores/stepping/step_calls.ts", ["redisStore by cas"], {
    "Keys of one call that are committed each by itself": [
      "if (call.several !== undefined) tieCells(cellsOf(call, cells));",
      "",
    ],
  }),
  ...faultsIn("stores/stepping/cell.ts", ["redisStore by watch"], {
    "A value in Redis that expires while it holds use":
      "cell.lifetime = {~~Math.ceil(until - now)~>1~~};",
  }),
  ...faultsIn("stores/layered/keyed_cache.ts", ["tests/stores/layered/deny_cache.test.ts"], {
    "A refusal from before a refund under way is kept":
      "return {~~andFinally(call, forget)~>call()~~};",
  }),
  ...faultsIn("stores/layered/deny_cache.ts", ["tests/stores/layered/deny_cache.test.ts"], {
    "A refusal holds in its own time to the last millisecond, which the store may have rounded":
      "if (passed >= decision.retryAfter - ({~~ownTime ? 1 : 0~>0~~})) return undefined;",
  }),
  ...faultsIn("stores/layered/age_decision.ts", ["tests/stores/layered/deny_cache.test.ts"], {
    "A remembered wait that is rounded down":
      "return wait === 0 ? 0 : Math.max(1, Math.{~~ceil~>floor~~}(wait - milliseconds));",
  }),
];
