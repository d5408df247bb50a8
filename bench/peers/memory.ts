/*
 * A decision in memory, at 10 thousand keys: nanoseconds, beside others.
 *
 * Each contestant has a loop of its own, so that no engine's guesses about one are spoilt by
 * another, and has to say what it decided: a wrong outcome fails the run. Schedulers, which run what
 * they are given when its turn comes, have a thousand calls under way; all others are called as
 * their documentation shows: in turn, awaited where they answer by promises.
 */
import { Effect } from "effect";
import { RateLimiter as EffectRateLimiter } from "effect/persistence";
import { MemoryStore } from "express-rate-limit";

import { type Algorithm, fixedWindow, gcra, limiter } from "../../mod.ts";
import { handWrittenGcra } from "../hand_written.ts";
import { collect, median, shuffled } from "../measure.ts";
import { peer, versionOf } from "./peer.ts";
import type { Row } from "./results.ts";

/** Makes so many decisions on keys in turn; answers how many were admitted. */
type Loop = (calls: number) => number | Promise<number>;

interface Contestant {
  readonly name: string;
  /** The package whose version is shown. */
  readonly package?: string;
  /** The work that its figure or the contestant leaves out. */
  readonly note: string;
  /** Fewer calls for those that are slow. */
  readonly share?: number;
  /**
   * `undefined` for a contestant that cannot refuse, or that decides elsewhere whether to admit.
   */
  readonly loops: Readonly<Record<Outcome, Loop | undefined>>;
}

type Outcome = "admitted" | "refused";

const DAY = 86_400_000;
const KEYS = shuffled(Array.from({ length: 10_000 }, (_, index) => `user:${1_000_000 + index}`));
const RATES = { admitted: { limit: 100_000_000, period: DAY }, refused: { limit: 1, period: DAY } };

/** Nanoseconds a decision, admitted and refused: the median of rounds in turn. */
export async function memoryRows(isShort: boolean): Promise<Row[]> {
  const calls = isShort ? 20_000 : 200_000;
  const rounds = isShort ? 3 : 7;
  const contestants = await makeContestants();
  const times = new Map<Loop, number[]>();
  for (let round = -1; round < rounds; round++) {
    // Every round begins alike.
    collect();
    // Another one goes first each time: nobody always follows the collection, or the slowest one.
    const first = (round + 1) * 3 % contestants.length;
    const inTurn = [...contestants.slice(first), ...contestants.slice(0, first)];
    for (const { name, loops, share = 1 } of inTurn) {
      for (const outcome of ["admitted", "refused"] as const) {
        const loop = loops[outcome];
        if (loop === undefined) continue;
        // The first round uses up the strict limit.
        const count = Math.max(KEYS.length, calls * share);
        const start = performance.now();
        const admitted = await loop(count);
        const time = (performance.now() - start) * 1e6 / count;
        if (round < 0) times.set(loop, []);
        else times.get(loop)!.push(time);
        if (round >= 0 && admitted !== (outcome === "admitted" ? count : 0)) {
          throw new Error(`Cannot compare ${name} as it admitted ${admitted} of ${count}`);
        }
      }
    }
  }
  const figure = (loop: Loop | undefined) => loop === undefined ? null : median(times.get(loop)!);
  return contestants.map((one) => ({
    name: one.name,
    version: one.package === undefined ? null : versionOf(one.package),
    note: one.note,
    values: { admitted: figure(one.loops.admitted), refused: figure(one.loops.refused) },
  }));
}

async function makeContestants(): Promise<readonly Contestant[]> {
  return [
    ours("tidegate, gcra", (rate) => gcra({ ...rate, burst: rate.limit })),
    ours("tidegate, fixedWindow", (rate) => fixedWindow({ ...rate, anchor: "first" })),
    {
      name: "GCRA by hand",
      note: "inexact; forgets no key",
      loops: both(({ limit, period }) => {
        const api = handWrittenGcra(limit, period, limit);
        return loop((key) => api.consume(key).allowed);
      }),
    },
    expressStore(),
    perKeyLimiter(),
    flexible(),
    {
      name: "effect, RateLimiter",
      package: "effect",
      share: 0.1,
      note: "one fiber; token bucket of whole tokens",
      loops: { admitted: await effects(RATES.admitted), refused: await effects(RATES.refused) },
    },
    upstash(),
    throttle(),
    bottleneck(),
  ];
}

function ours(
  name: string,
  make: (rate: { limit: number; period: number }) => Algorithm<unknown>,
): Contestant {
  return {
    name,
    note: "exact; bounded; every field of the decision",
    loops: both((rate) => {
      const api = limiter(make(rate));
      return loop((key) => api.consume(key).allowed);
    }),
  };
}

function expressStore(): Contestant {
  return {
    name: "express-rate-limit, MemoryStore",
    package: "express-rate-limit",
    note: "counts; fixed windows; no bound on keys",
    loops: both(({ limit, period }) => {
      const store = new MemoryStore();
      store.init({ windowMs: period } as Parameters<MemoryStore["init"]>[0]);
      return loop(async (key) => (await store.increment(key)).totalHits <= limit);
    }),
  };
}

function perKeyLimiter(): Contestant {
  const { RateLimiter } = peer("limiter");
  return {
    name: "limiter, one for each key in a Map",
    package: "limiter",
    note: "answers yes or no; the map is the caller's, and forgets no key",
    loops: both(({ limit, period }) => {
      const limiters = new Map<string, { tryRemoveTokens(count: number): boolean }>();
      return loop((key) => {
        let one = limiters.get(key);
        if (one === undefined) {
          one = new RateLimiter({ tokensPerInterval: limit, interval: period });
          limiters.set(key, one!);
        }
        return one!.tryRemoveTokens(1);
      });
    }),
  };
}

function flexible(): Contestant {
  const { RateLimiterMemory } = peer("rate-limiter-flexible");
  return {
    name: "rate-limiter-flexible, RateLimiterMemory",
    package: "rate-limiter-flexible",
    note: "fixed windows; a timer for each key; refuses by rejecting",
    share: 0.5,
    loops: both(({ limit, period }) => {
      const api = new RateLimiterMemory({ points: limit, duration: period / 1_000 });
      return loop(async (key) => {
        try {
          await api.consume(key);
          return true;
        } catch {
          return false;
        }
      });
    }),
  };
}

async function effects({ limit, period }: { limit: number; period: number }): Promise<Loop> {
  const api = await Effect.runPromise(
    Effect.provide(
      Effect.provide(EffectRateLimiter.RateLimiter, EffectRateLimiter.layer),
      EffectRateLimiter.layerStoreMemory,
    ),
  );
  const policy = { limit, window: period, algorithm: "token-bucket", onExceeded: "fail" } as const;
  const [yes, no] = [Effect.succeed(true), Effect.succeed(false)];
  let index = 0;
  return (calls) =>
    Effect.runSync(Effect.gen(function* () {
      let admitted = 0;
      for (let call = 0; call < calls; call++) {
        const key = KEYS[index]!;
        if (++index === KEYS.length) index = 0;
        const isAllowed = yield* Effect.matchEffect(api.consume({ ...policy, key }), {
          onSuccess: () => yes,
          onFailure: () => no,
        });
        if (isAllowed) admitted++;
      }
      return admitted;
    }));
}

/** Its answers without its server: a function of this process stands in for that. */
function upstash(): Contestant {
  const { Ratelimit } = peer("@upstash/ratelimit");
  const counts = new Map<string, number>();
  const redis = {
    evalsha(_hash: string, [key]: [string], options: readonly number[]) {
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return Promise.resolve(options.length === 2 ? count : [count, options[0]]);
    },
  };
  const options = { redis, timeout: 0, enableTelemetry: false };
  return {
    name: "@upstash/ratelimit, its caches",
    package: "@upstash/ratelimit",
    note: "cachedFixedWindow, blocked keys; Redis is answered at once, in the process",
    loops: both(({ limit, period }) => {
      const window = limit === 1 ? Ratelimit.fixedWindow : Ratelimit.cachedFixedWindow;
      const api = new Ratelimit({ ...options, limiter: window(limit, `${period} ms`) });
      return loop(async (key) => (await api.limit(key)).success);
    }),
  };
}

function throttle(): Contestant {
  const { default: pThrottle } = peer("p-throttle");
  const throttled = new Map<string, () => Promise<boolean>>();
  const { limit, period } = RATES.admitted;
  return {
    name: "p-throttle, one for each key in a Map",
    package: "p-throttle",
    note: "delays calls, and refuses none; a thousand in flight",
    share: 0.1,
    loops: {
      admitted: crowded((key) => {
        let one = throttled.get(key);
        if (one === undefined) {
          one = pThrottle({ limit, interval: period })(() => true) as () => Promise<boolean>;
          throttled.set(key, one);
        }
        return one();
      }),
      refused: undefined,
    },
  };
}

function bottleneck(): Contestant {
  const Bottleneck = peer("bottleneck");
  const { limit, period } = RATES.admitted;
  const group = new Bottleneck.Group({
    reservoir: limit,
    reservoirRefreshAmount: limit,
    reservoirRefreshInterval: period,
  });
  return {
    name: "bottleneck, Group",
    package: "bottleneck",
    note: "schedules jobs, and refuses none here; a thousand in flight",
    share: 0.05,
    loops: {
      admitted: crowded((key) => group.key(key).schedule(() => Promise.resolve(true))),
      refused: undefined,
    },
  };
}

function both(make: (rate: { limit: number; period: number }) => Loop) {
  return { admitted: make(RATES.admitted), refused: make(RATES.refused) };
}

/** A loop with code of its own, so that an engine learns about each loop separately. */
function loop(call: (key: string) => boolean | Promise<boolean>): Loop {
  const isAsync = call.constructor.name === "AsyncFunction";
  const body = `let place = 0;
    return ${isAsync ? "async " : ""}function (calls) {
      let admitted = 0;
      for (let i = 0; i < calls; i++) {
        if (${isAsync ? "await " : ""}call(keys[place])) admitted++;
        if (++place === keys.length) place = 0;
      }
      return admitted;
    }`;
  return new Function("keys", "call", body)(KEYS, call);
}

/** A thousand calls at a time. */
function crowded(call: (key: string) => Promise<boolean>): Loop {
  return async (calls) => {
    let admitted = 0;
    for (let from = 0; from < calls; from += 1_000) {
      const keys = KEYS.slice(from % KEYS.length, from % KEYS.length + 1_000);
      for (const isAllowed of await Promise.all(keys.map(call))) if (isAllowed) admitted++;
    }
    return admitted;
  };
}
