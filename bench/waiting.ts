/*
 * Waiting, beside another commit: `acquire` and `hold` where nobody waits, where one caller waits and
 * where 10 thousand do. Processor time a call, the builds in turn.
 *
 *   git worktree add /tmp/old COMMIT
 *   npm run bench -- waiting --old=/tmp/old
 */

import process from "node:process";
import { pathToFileURL } from "node:url";

import type * as Tidegate from "../mod.ts";
import { finish, median, row, runtime } from "./measure.ts";

type Build = typeof Tidegate;
type Waits = Pick<Build, "acquire" | "hold">;

const ROUNDS = 9;
const CROWD = 10_000;

const folder = process.argv.find((each) => each.startsWith("--old="))?.slice("--old=".length);
if (folder === undefined) throw new Error("Cannot compare as --old must be the folder of a commit");
const old: Build = await import(pathToFileURL(`${folder}/mod.ts`).href);
const own: Build = await import("../mod.ts");

/** The calls of a build, which were methods once. */
function waitsOf(build: Build): Waits {
  if (build.acquire !== undefined) return build;
  // deno-lint-ignore no-explicit-any
  type Methods = Record<"acquire" | "hold", (...given: any[]) => any>;
  return {
    acquire: (api, key, options) => (api as unknown as Methods).acquire(key, options),
    // deno-lint-ignore no-explicit-any
    hold: ((api: any, key: string, options: any) => (api as Methods).hold(key, options)) as never,
  };
}

/** Milliseconds of this process on processors, so that neighbours on the machine count less. */
function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** A case: it prepares, and answers with the calls that are timed, and their number. */
type Case = (build: Build, waits: Waits) => { readonly calls: number; run(): Promise<unknown> };

const wide = { limit: 1_000, period: 1, burst: 1_000_000 } as const;
const spent = { limit: CROWD, period: "1h", burst: CROWD } as const;

const CASES: Readonly<Record<string, Case>> = {
  "acquire, nobody waits": (build, { acquire }) => {
    const api = build.limiter(build.gcra(wide));
    return {
      calls: 50_000,
      async run() {
        for (let call = 0; call < 50_000; call++) await acquire(api, "key");
      },
    };
  },
  "hold and release, nobody waits": (build, { hold }) => {
    const api = build.limiter(build.concurrency({ limit: 2, ttl: "1h" }));
    return {
      calls: 20_000,
      run() {
        for (let call = 0; call < 20_000; call++) hold(api, "key").permit!.release();
        return Promise.resolve();
      },
    };
  },
  "acquire, one waits for a refund": (build, { acquire }) => {
    const api = build.limiter(build.gcra({ limit: 1, period: "1h", burst: 1 }));
    api.consume("key");
    return {
      calls: 5_000,
      async run() {
        for (let call = 0; call < 5_000; call++) {
          const waiting = acquire(api, "key");
          api.refund("key");
          await waiting;
        }
      },
    };
  },
  "hold, one waits for a release": (build, { hold }) => {
    const api = build.limiter(build.concurrency({ limit: 1, ttl: "1h" }));
    return {
      calls: 5_000,
      async run() {
        let held = await hold(api, "key");
        for (let call = 0; call < 5_000; call++) {
          const waiting = hold(api, "key", { maxWait: Infinity });
          held.permit!.release();
          held = await waiting;
        }
        held.permit!.release();
      },
    };
  },
  "acquire, 10,000 wait and a reset lets them in": crowd(() => ({}), (api) => api.reset("key")),
  "acquire, 10,000 wait with a maxWait": crowd(
    () => ({ maxWait: "9h" }),
    (api) => api.reset("key"),
  ),
  "acquire, 10,000 wait and leave by one signal": leaving(),
  "hold, 10,000 wait one behind the other": (build, { hold }) => {
    const api = build.limiter(build.concurrency({ limit: 1, ttl: "1h" }), {
      maxWaiting: CROWD,
    });
    return {
      calls: CROWD,
      async run() {
        const first = await hold(api, "key");
        const waiting = Array.from({ length: CROWD }, async () => {
          const { permit } = await hold(api, "key", { maxWait: Infinity });
          permit!.release();
        });
        first.permit!.release();
        await Promise.all(waiting);
      },
    };
  },
};

function crowd(
  optionsOf: () => Tidegate.AcquireOptions,
  letIn: (api: Tidegate.Limiter) => void,
): Case {
  return (build, { acquire }) => {
    const api = build.limiter(build.gcra(spent), { maxWaiting: CROWD });
    return {
      calls: CROWD,
      async run() {
        api.charge("key", 2 * CROWD);
        const waiting = Array.from({ length: CROWD }, () => acquire(api, "key", optionsOf()));
        letIn(api);
        await Promise.all(waiting);
        api.reset("key");
      },
    };
  };
}

function leaving(): Case {
  return (build, { acquire }) => {
    const api = build.limiter(build.gcra({ limit: 1, period: "1h", burst: 1 }));
    api.consume("key");
    return {
      calls: CROWD,
      async run() {
        const controller = new AbortController();
        const { signal } = controller;
        const waiting = Array.from({ length: CROWD }, () => acquire(api, "key", { signal }));
        controller.abort();
        await Promise.allSettled(waiting);
      },
    };
  };
}

console.log(`${runtime()}: nanoseconds a call, old, own`);
for (const [name, make] of Object.entries(CASES)) {
  const made = [old, own].map((build) => make(build, waitsOf(build)));
  const times: [number[], number[]] = [[], []];
  for (let round = -1; round < ROUNDS; round++) {
    for (const [index, { calls, run }] of made.entries()) {
      const start = processorTime();
      await run();
      if (round >= 0) times[index as 0 | 1].push((processorTime() - start) * 1e6 / calls);
    }
  }
  const [before, after] = times.map(median) as [number, number];
  console.log(row(name, [before, after, `${(after / before).toFixed(2)}x`]));
}
finish();
