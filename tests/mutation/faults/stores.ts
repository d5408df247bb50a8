import type { Fault } from "../fault.ts";

const MEMORY = "stores/memory/memory_store.ts";
const WATCH = "stores/redis/commit/watch_commit.ts";

/** Faults of the stores. */
export const STORE_FAULTS: readonly Fault[] = [
  {
    what: "The memory store drops keys that hold use",
    file: "stores/memory/slots.ts",
    search:
      "if (freshAtOf(queue, slot) + LINGER <= now) dropSlot(slots, slot);\n    else mendFirst(queue);",
    replace: "dropSlot(slots, slot);",
    laws: ["memoryStore"],
  },
  {
    what: "The memory store's short way writes a dry run",
    file: MEMORY,
    search: "if (next !== state && !dry) {",
    replace: "if (next !== state) {",
    laws: ["memoryStore"],
  },
  {
    what: "The memory store's `delete` does nothing",
    file: MEMORY,
    search: "const slot = table && slotOf(table, key);",
    replace: "const slot = undefined;",
    laws: ["memoryStore"],
  },
  {
    what: "The memory store keeps its own time where it is given one",
    file: MEMORY,
    search: "const now = at ?? Date.now();",
    replace: "const now = Date.now();",
    laws: ["memoryStore"],
  },
  {
    what: "The memory store answers after it is closed",
    file: MEMORY,
    search: "    slots.closed = true;\n",
    replace: "",
    laws: ["memoryStore"],
  },
  {
    what: "A key with a brace in it is another limiter's",
    file: "core/stored_key.ts",
    search: "return `${escaped(prefix)}:{${escaped(key)}}:${id}`;",
    replace: "return `${escaped(prefix)}:{${key.replaceAll('}', '{')}}:${id}`;",
    laws: ["memoryStore"],
  },
  {
    what: "A WATCH that is not sent",
    file: WATCH,
    search: '    ["WATCH", ...keys],\n',
    replace: "",
    laws: ["redisStore by watch"],
  },
  {
    what: "A lost race that is taken for a commit",
    file: WATCH,
    search: "if (result === null) return { ...ALL_ANSWERED, conflicted: waiting };",
    replace: "if (result === null) { answer(waiting); return ALL_ANSWERED; }",
    laws: ["redisStore by watch"],
  },
  {
    what: "Callers are answered before the commit",
    file: WATCH,
    search: "if (changes.length === cells.length) return [decided, []];",
    replace: "if (changes.length === cells.length) return [[], decided];",
    laws: ["redisStore by watch"],
  },
  {
    what: "One of the changes of a batch is not written",
    file: WATCH,
    search: "for (const cell of changes) commands.push(commandOf(cell));",
    replace: "for (const cell of changes.slice(0, 1)) commands.push(commandOf(cell));",
    laws: ["redisStore by watch"],
  },
  {
    what: "Compare and set that does not compare",
    file: "stores/redis/commit/compare_and_set.ts",
    search: "if (held[place] or '') ~= ARGV[at] then same = false end",
    replace: "if false then same = false end",
    laws: ["redisStore by cas"],
  },
  {
    what: "Compare and set that compares only the first key of a batch",
    file: "stores/redis/commit/compare_and_set.ts",
    search: "for place = key, last do\n    if (held[place]",
    replace: "for place = key, key do\n    if (held[place]",
    laws: ["redisStore by cas"],
  },
  {
    what: "Calls by compare and set that are answered though their guess was wrong",
    file: "stores/redis/commit/cas_commit.ts",
    search: 'fates.set(rootOf(cells[place]!), "lost");',
    replace: "",
    laws: ["redisStore by cas"],
  },
  {
    what: "Keys of one call that are committed each by itself",
    file: "stores/redis/batches/batch.ts",
    search: "if (job.several !== undefined) tieCells(job.several.keys, cells);",
    replace: "",
    laws: ["redisStore by cas"],
  },
  {
    what: "A value in Redis that expires while it holds use",
    file: "stores/redis/batches/cell.ts",
    search: "cell.lifetime = Math.ceil(resetAfter + MARGIN + LEEWAY);",
    replace: "cell.lifetime = 1;",
    laws: ["redisStore by watch"],
  },
  {
    what: "A key in Redis that is not deleted when all its use is given back",
    file: WATCH,
    search: 'return ["DEL", key];',
    replace: 'return ["EXISTS", key];',
    laws: ["redisStore by watch"],
  },
];
