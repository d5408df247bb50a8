/*
 * The memory store of another commit beside this one, in one run: every verb at 1, 10 thousand and
 * 1 million keys, with reused and with fresh strings, in a process of one algorithm and in a process
 * of six; batches, keys that are new, keys that a full store forgets, bytes a key, the longest call.
 *
 *   git worktree add /tmp/old COMMIT
 *   npm run bench -- beside --old=/tmp/old [--short] [--part=one]
 *
 * Both builds run in turn in one process, each in a loop of its own, so that no call site sees both.
 * Parts run in a process each. The flaw: what the builds share is what the runtime shares, such as the
 * heap, so the figures of bytes and of the longest call come from a process for each build.
 */

import { spawnSync } from "node:child_process";
import process from "node:process";
import { pathToFileURL } from "node:url";

import type * as Tidegate from "../mod.ts";
import { bytesInUse, compare, finish, median, row, runtime, type Variant } from "./measure.ts";
import { keysOf } from "./popular_keys.ts";

type Build = typeof Tidegate;
type Limiter = Tidegate.Limiter;

const word = (name: string) =>
  process.argv.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
const SHORT = process.argv.includes("--short");
const OPERATIONS = SHORT ? 50_000 : 200_000;
const ROUNDS = SHORT ? 5 : 9;
const MILLION = SHORT ? 300_000 : 1_000_000;
const VERBS = ["consume", "peek", "charge", "refund"] as const;

/** Drains slowly, so that `refund` finds the use that was taken before. */
const WIDE = { limit: 1_000, period: 1_000, burst: 10_000_000 } as const;
const WINDOW = { limit: 10_000_000, period: "1h" } as const;
const ONE_UNIT = { limit: 1, period: "1h", burst: 1 } as const;

const folder = word("old");
if (folder === undefined) throw new Error("Cannot compare as --old must be the folder of a commit");
const old: Build = await import(pathToFileURL(`${folder}/mod.ts`).href);
const own: Build = await import("../mod.ts");
const builds = { old, own };
type BuildName = keyof typeof builds;

let loops = 0;

/** A loop with type feedback of its own: engines share that of the same text, so each has its own. */
function loopOf(body: string): (api: unknown, keys: readonly string[], each: unknown) => Variant {
  return new Function(
    "api",
    "keys",
    "each",
    `// ${loops++}
     let index = 0;
     const { length } = keys;
     return (operations) => {
       let sum = 0;
       for (let i = 0; i < operations; i++) {
         ${body}
       }
       return sum;
     };`,
  ) as ReturnType<typeof loopOf>;
}

const REUSED = "const key = keys[index]; if (++index === length) index = 0;";
const FRESH = "index = (index + 7919) % length; const key = `user:${1_000_000 + index}`;";

/** Units taken before a round of `refund` gives them back. */
function topUp(api: Limiter, keys: readonly string[], operations: number): void {
  const units = Math.ceil(operations / keys.length) + 1;
  for (const key of keys) api.consume(key, units);
}

function ratio(own: number, old: number): string {
  return `${(own / old).toFixed(2)}x`;
}

function print(name: string, { old, own }: Record<BuildName, number>): void {
  console.log(row(name, [old, own, ratio(own, old)]));
}

/** Times one call of both builds. */
function timed(
  name: string,
  makes: (build: Build, name: BuildName) => Variant,
  operations: number = OPERATIONS,
): void {
  const variants = { old: makes(old, "old"), own: makes(own, "own") };
  print(name, compare(variants, operations, ROUNDS, clock));
}

/** The verbs of one limiter of each build. */
function verbRows(
  title: string,
  limiters: Record<BuildName, Limiter>,
  keys: readonly string[],
  strings: readonly ("reused" | "fresh")[],
): void {
  const operations = Math.max(OPERATIONS, keys.length >= 300_000 ? keys.length : 0);
  for (const kind of strings) {
    for (const verb of VERBS) {
      timed(`${title}, ${kind}: ${verb}`, (_build, name) => {
        const api = limiters[name];
        const loop = loopOf(
          `${kind === "fresh" ? FRESH : REUSED} sum += api.${verb}(key).remaining;`,
        )(api, keys, undefined);
        if (verb !== "refund") return loop;
        return (count) => {
          const start = processorTime();
          topUp(api, keys, count);
          spent += processorTime() - start;
          return loop(count);
        };
      }, operations);
    }
  }
}

/** Milliseconds of work that is not to be timed. */
let spent = 0;

/** Milliseconds of this process on processors, so that neighbours on the machine count less. */
function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

const clock = () => processorTime() - spent;

function onNewStore(build: Build, algorithm: Tidegate.Algorithm, prefix = "bench"): Limiter {
  return build.limiter(algorithm, { store: build.memoryStore({ maxBytes: 2 ** 33 }), prefix });
}

function keysFor(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `user:${1_000_000 + index}`);
}

/** Takes so much that the key stays in use. */
function use(api: Limiter, key: string): void {
  api.consume(key, Math.ceil(api.algorithm.capacity / 10));
}

function both(
  make: (build: Build) => Limiter,
  keys: readonly string[],
): Record<BuildName, Limiter> {
  const limiters = { old: make(old), own: make(own) };
  for (const each of Object.values(limiters)) for (const key of keys) use(each, key);
  return limiters;
}

function one(): void {
  for (const count of [1, 10_000, MILLION]) {
    const keys = keysFor(count);
    verbRows(`gcra, ${count}`, both((build) => onNewStore(build, build.gcra(WIDE)), keys), keys, [
      "reused",
      "fresh",
    ]);
    const refused = both((build) => onNewStore(build, build.gcra(ONE_UNIT)), keys);
    for (const [kind, start] of [["reused", REUSED], ["fresh", FRESH]] as const) {
      timed(
        `gcra, ${count}, ${kind}: refused`,
        (_build, name) =>
          loopOf(`${start} sum += api.consume(key).remaining;`)(refused[name], keys, undefined),
        Math.max(OPERATIONS, count >= 300_000 ? count : 0),
      );
    }
  }
}

/** A process of six algorithms: the limiters of a server. */
function six(): void {
  const keys = keysFor(10_000);
  const made = Object.fromEntries(
    Object.entries(builds).map(([name, build]) => {
      const store = build.memoryStore({ maxBytes: 2 ** 33 });
      const algorithms = {
        gcra: build.gcra(WIDE),
        fixedWindow: build.fixedWindow(WINDOW),
        slidingWindow: build.slidingWindow({ ...WINDOW, precision: "1m" }),
        all: build.all(build.gcra(WIDE), build.fixedWindow(WINDOW)),
        tokenBucket: build.tokenBucket({ ...WIDE, refill: "interval" }),
        slidingCounter: build.slidingCounter(WINDOW),
      };
      const limiters = Object.entries(algorithms).map(([prefix, algorithm]) =>
        [prefix, build.limiter(algorithm as Tidegate.Algorithm, { store, prefix })] as const
      );
      return [name, Object.fromEntries(limiters)];
    }),
  ) as unknown as Record<BuildName, Record<string, Limiter>>;
  for (const limiters of Object.values(made)) {
    for (let round = 0; round < 5; round++) {
      for (const each of Object.values(limiters)) {
        for (const key of keys) for (const verb of VERBS) each[verb](key);
      }
    }
    for (const each of Object.values(limiters)) for (const key of keys) use(each, key);
  }
  for (const name of Object.keys(made.own)) {
    const limiters = { old: made.old[name]!, own: made.own[name]! };
    verbRows(`${name} of six, 10000`, limiters, keys, ["reused"]);
  }
  for (const count of [1, MILLION]) {
    const some = keysFor(count);
    const limiters = both((build) => onNewStore(build, build.gcra(WIDE)), some);
    verbRows(`gcra of six, ${count}`, limiters, some, ["reused", "fresh"]);
  }
  batches(made, keys);
}

/** Two keys at once, beside two calls. */
function batches(made: Record<BuildName, Record<string, Limiter>>, keys: readonly string[]): void {
  for (
    const [first, second] of [["gcra", "gcra"], ["gcra", "fixedWindow"], ["slidingWindow", "all"]]
  ) {
    const variants = Object.fromEntries(
      Object.entries(builds).flatMap(([name, { consumeAll }]) => {
        const limiters = made[name as BuildName];
        const one = limiters[first!]!;
        const other = limiters[second!]!;
        const each = { one, other, consumeAll };
        return [
          [
            `${name}Two`,
            loopOf(`${REUSED}
            sum += each.one.consume(key).remaining + each.other.consume(key + "b").remaining;`)(
              undefined,
              keys,
              each,
            ),
          ],
          [
            `${name}All`,
            loopOf(`${REUSED}
            sum += each.consumeAll([
              { limiter: each.one, key }, { limiter: each.other, key: key + "b" },
            ]).remaining;`)(undefined, keys, each),
          ],
        ];
      }),
    ) as Record<"oldTwo" | "oldAll" | "ownTwo" | "ownAll", Variant>;
    const { oldTwo, oldAll, ownTwo, ownAll } = compare(variants, OPERATIONS / 2, ROUNDS, clock);
    print(`consumeAll of ${first} and ${second}`, { old: oldAll, own: ownAll });
    console.log(row("  times two calls", [ratio(oldAll, oldTwo), ratio(ownAll, ownTwo)]));
  }
}

/** New keys while there is room, and new keys of a full store. */
function keys(): void {
  const count = MILLION;
  const times: Record<string, Record<BuildName, number[]>> = {};
  for (let round = 0; round < (SHORT ? 3 : 5); round++) {
    for (const [name, build] of Object.entries(builds) as [BuildName, Build][]) {
      const cases = {
        "gcra: a new key": () => onNewStore(build, build.gcra(WIDE)),
        "slidingLog: a new key": () =>
          onNewStore(build, build.slidingLog({ limit: 100, period: "1h" })),
        "gcra: a new key of a full store": () => {
          const store = build.memoryStore({ maxKeys: 100_000, maxBytes: 2 ** 33 });
          return build.limiter(build.gcra(ONE_UNIT), { store, prefix: "full" });
        },
        "gcra: a new key of a store of used-up keys": () => {
          const store = build.memoryStore({ maxKeys: 100_000, maxBytes: 2 ** 33 });
          const api = build.limiter(build.gcra({ ...ONE_UNIT, burst: 5 }), {
            store,
            prefix: "full",
          });
          for (let key = 0; key < 100_000; key++) api.consume(`held ${key}`, 5);
          return api;
        },
      };
      for (const [title, make] of Object.entries(cases)) {
        const api = make();
        const start = processorTime();
        for (let key = 0; key < count; key++) api.consume(`key ${key}`);
        const time = (processorTime() - start) * 1e6 / count;
        (times[title] ??= { old: [], own: [] })[name].push(time);
      }
    }
  }
  for (const [title, { old, own }] of Object.entries(times)) {
    print(title, { old: median(old), own: median(own) });
  }
}

/** Bytes of a key beside its string, and the longest call while keys come, of one build. */
async function memory(build: Build): Promise<void> {
  const names = keysOf(1_000_000);
  for (const key of names) new Map().set(key, key.length);
  const cases = {
    gcra: build.gcra({ limit: 1, period: 3_600_000, burst: 1 }),
    slidingLog: build.slidingLog({ limit: 5, period: "1h" }),
  };
  for (const [name, algorithm] of Object.entries(cases)) {
    const before = await bytesInUse();
    const api = build.limiter(algorithm as Tidegate.Algorithm, {
      store: build.memoryStore({ maxBytes: 2 ** 33 }),
      prefix: "bench",
    });
    for (const key of names) api.consume(key);
    const bytes = (await bytesInUse() - before) / names.length;
    const counted = api.store as Tidegate.MemoryStore;
    console.log(JSON.stringify([`bytes a key, ${name}`, bytes]));
    console.log(JSON.stringify([
      `bytes a key by its own count, with 9 of text, ${name}`,
      counted.statistics().bytes / names.length,
    ]));
    api.reset("user:1");
  }
}

/** Milliseconds of the longest call while a million keys come. */
function longest(call: (key: string) => unknown): number {
  let most = 0;
  for (let index = 0; index < 1_000_000; index++) {
    const key = `key ${index}`;
    const start = performance.now();
    call(key);
    const time = performance.now() - start;
    if (time > most) most = time;
  }
  return most;
}

function comes(build: Build | undefined): void {
  if (build === undefined) {
    const map = new Map<string, { count: number }>();
    console.log(JSON.stringify(["longest", longest((key) => map.set(key, { count: 1 }))]));
    return;
  }
  let now = 1_790_000_000_000;
  const api = build.limiter(build.gcra({ limit: 10, period: 2_000, burst: 10 }), {
    store: build.memoryStore({ maxBytes: 2 ** 33 }),
    prefix: "bench",
    clock: () => now += 0.001,
  });
  console.log(JSON.stringify(["longest", longest((key) => api.consume(key))]));
}

/** Runs a part in a process of its own. */
function child(part: string, quiet = false): [string, number][] {
  const script = process.argv[1]!;
  const before = "Bun" in globalThis
    ? ["run"]
    : "Deno" in globalThis
    ? ["run", "-A", "--no-check", "--v8-flags=--expose-gc"]
    : ["--expose-gc", "--no-warnings"];
  const words = [`--old=${folder}`, `--part=${part}`, ...(SHORT ? ["--short"] : [])];
  const { stdout } = spawnSync(process.execPath, [...before, script, ...words], {
    stdio: ["ignore", quiet ? "pipe" : "inherit", "inherit"],
    encoding: "utf8",
  });
  if (!quiet) return [];
  return stdout.trim().split("\n").map((line) => JSON.parse(line));
}

function inProcesses(): void {
  const asked = word("only")?.split(",");
  const isAsked = (name: string) => asked === undefined || asked.includes(name);
  console.log(`${runtime()}\n${row("", ["old", "own", "own/old"])}`);
  for (const part of ["one", "six", "keys"]) if (isAsked(part)) child(part);
  if (isAsked("bytes")) {
    const [before, after] = ["bytes-old", "bytes-own"].map((part) => child(part, true));
    before!.forEach(([name, bytes], index) => print(name, { old: bytes, own: after![index]![1] }));
  }
  if (!isAsked("longest")) return;
  const figures = { map: [] as number[], old: [] as number[], own: [] as number[] };
  for (let round = 0; round < (SHORT ? 3 : 7); round++) {
    for (const name of ["map", "old", "own"] as const) {
      figures[name].push(child(`longest-${name}`, true)[0]![1]);
    }
  }
  const { map, old, own } = figures;
  print("ms of the longest call", { old: median(old), own: median(own) });
  console.log(row("  of a bare map", [median(map)]));
}

const parts: Record<string, () => void | Promise<void>> = {
  one,
  six,
  keys,
  "bytes-old": () => memory(old),
  "bytes-own": () => memory(own),
  "longest-old": () => comes(old),
  "longest-own": () => comes(own),
  "longest-map": () => comes(undefined),
};
await (parts[word("part") ?? ""] ?? inProcesses)();
finish();
