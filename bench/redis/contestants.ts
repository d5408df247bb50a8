/*
 * The contestants: the store in both modes, plain GCRA in Lua (one script call for each decision, a
 * script written by hand), and four libraries. Those that take node-redis use it without its
 * timeout for each command, which costs them more than half of their throughput; redis-gcra takes
 * ioredis, and @upstash/ratelimit speaks HTTP to a server of the bench that passes its scripts on.
 *
 * "bare batch" is no limiter: it counts calls by the same script as cas, a batch at a time, and does
 * nothing else. No batch by this client on this machine can be much faster than it.
 */

import { createClient } from "redis";

import { type Algorithm, gcra, limiter, slidingWindow } from "../../mod.ts";
import { COMPARE_AND_SET, COMPARE_AND_SET_SHA } from "../../stores/redis/commit/compare_and_set.ts";
import { redisStore } from "../../stores/redis/redis_store.ts";
import { denyCache } from "../../stores/layered/layered.ts";
import { hasPeer, peer } from "../peers/peer.ts";
import { restServer } from "../peers/rest_server.ts";

/** Decides; answers whether it admitted. */
export interface Contestant {
  consume(key: string): Promise<boolean>;
  /** Round trips so far, if it counts them; otherwise each decision is one. */
  roundTrips(): number | undefined;
  close(): Promise<void>;
}

/** The contestants by name. */
export const CONTESTANTS: readonly string[] = [
  "script",
  "cas",
  "watch",
  "lua",
  "rate-limiter-flexible",
  "rate-limit-redis",
  "redis-gcra",
  "@upstash/ratelimit",
];

/** Packages that contestants need, if their own names are not the packages'. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  "script": [],
  "cas": [],
  "watch": [],
  "two by auto": [],
  "watch+denyCache": [],
  "cas+denyCache": [],
  "lua": [],
  "bare batch": [],
  "redis-gcra": ["redis-gcra", "ioredis"],
  "@upstash/ratelimit": ["@upstash/ratelimit", "@upstash/redis"],
};

/** Whether all that a contestant needs is installed. */
export function canTakePart(name: string): boolean {
  return (NEEDS[name] ?? [name]).every(hasPeer);
}

/** The limit for all of them: it refuses no call, or all but the first hundred. */
interface Limit {
  readonly limit: number;
  readonly period: number;
}

const GENEROUS: Limit = { limit: 100_000_000, period: 3_600_000 };
const STRICT: Limit = { limit: 100, period: 86_400_000 };

/** Connects a contestant; with `refusing`, its limit is soon used up. */
export async function connect(
  name: string,
  url: string,
  refusing: boolean,
): Promise<Contestant> {
  const limit = refusing ? STRICT : GENEROUS;
  switch (name) {
    case "watch":
    case "cas":
    case "script":
      return tidegate(url, gcra({ ...limit, burst: limit.limit }) as Algorithm, name, false);
    case "two by auto":
      return twoInTurn(url, limit);
    case "watch+denyCache":
    case "cas+denyCache":
      return tidegate(
        url,
        gcra({ ...limit, burst: limit.limit }) as Algorithm,
        name.startsWith("cas") ? "cas" : "watch",
        true,
      );
    case "bare batch":
      return await bareBatch(url);
    case "lua":
      return await plainLua(url, limit);
    case "rate-limiter-flexible":
      return await rateLimiterFlexible(url, limit);
    case "rate-limit-redis":
      return await rateLimitRedis(url, limit);
    case "redis-gcra":
      return redisGcra(url, limit);
    case "@upstash/ratelimit":
      return await upstash(url, limit);
    default:
      throw new RangeError(`There is no contestant ${name}`);
  }
}

function clientOf(url: string) {
  return createClient({ url, commandOptions: { timeout: 0 } }).connect();
}

function tidegate(
  url: string,
  algorithm: Algorithm,
  commit: "watch" | "cas" | "script",
  cached: boolean,
): Contestant {
  const redis = redisStore(createClient({ url }), { commit, deadline: 5_000 });
  const store = cached ? denyCache(redis) : redis;
  const api = limiter(algorithm, { store, prefix: commit });
  return {
    consume: (key) => api.consume(key).then(isAllowed),
    roundTrips: () => redis.statistics().roundTrips,
    close: () => redis.close(),
  };
}

/** Two algorithms in turn on one store; the script knows one of them. */
function twoInTurn(url: string, limit: Limit): Contestant {
  const store = redisStore(createClient({ url }), { deadline: 5_000, timeout: 30_000 });
  const window = slidingWindow({ ...limit, precision: "1m" }) as Algorithm;
  const apis = [gcra({ ...limit, burst: limit.limit }) as Algorithm, window].map((algorithm) =>
    limiter(algorithm, { store, prefix: "two" })
  );
  let turn = 0;
  return {
    consume: (key) => apis[turn++ % 2]!.consume(key).then(isAllowed),
    roundTrips: () => store.statistics().roundTrips,
    close: () => store.close(),
  };
}

function isAllowed({ allowed }: { readonly allowed: boolean }): boolean {
  return allowed;
}

async function bareBatch(url: string): Promise<Contestant> {
  const client = await clientOf(url);
  await client.sendCommand(["EVAL", COMPARE_AND_SET, "0"]);
  // It knows of no value that it has not written itself.
  const prefix = `bare${Math.random()}`;
  const counts = new Map<string, number>();
  let waiting: { readonly key: string; readonly resolve: (allowed: boolean) => void }[] = [];
  let roundTrips = 0;
  let busy = false;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      const before = new Map(batch.map(({ key }) => [key, counts.get(key)]));
      for (const { key } of batch) counts.set(key, (counts.get(key) ?? 0) + 1);
      const keys = [...before.keys()];
      const values = keys.flatMap((key) => {
        const held = before.get(key);
        return held === undefined
          ? ["", String(counts.get(key)), "3600000"]
          : [String(held), String(counts.get(key)), ""];
      });
      const count = String(keys.length);
      const names = keys.map((key) => `${prefix}:${key}`);
      const command = [
        "EVALSHA",
        COMPARE_AND_SET_SHA,
        count,
        ...names,
        "",
        "bench",
        "",
        "",
        "0",
        ...values,
      ];
      const reply = await client.sendCommand<unknown[]>(command);
      if (reply.length > 2) throw new Error("Cannot count as somebody else counts here, too");
      roundTrips++;
      for (const { resolve } of batch) resolve(true);
      await new Promise((resolve) => setImmediate(resolve));
    }
    busy = false;
  }

  return {
    consume: (key) =>
      new Promise((resolve) => {
        waiting.push({ key, resolve });
        if (busy) return;
        busy = true;
        setImmediate(run);
      }),
    roundTrips: () => roundTrips,
    close: () => client.close(),
  };
}

const LUA = `
local now = redis.call('TIME')
local at = now[1] * 1000 + math.floor(now[2] / 1000)
local interval, tolerance = tonumber(ARGV[1]), tonumber(ARGV[2])
local tat = tonumber(redis.call('GET', KEYS[1]) or at)
if tat < at then tat = at end
local next = tat + interval
if next - at > tolerance then return {0, next - at - tolerance} end
redis.call('SET', KEYS[1], next, 'PX', math.ceil(next - at) + 1)
return {1, 0}
`;

async function plainLua(url: string, { limit, period }: Limit): Promise<Contestant> {
  const client = await clientOf(url);
  const sha = await client.scriptLoad(LUA);
  const interval = String(period / limit);
  return {
    async consume(key) {
      const reply = await client.sendCommand<[number, number]>(
        ["EVALSHA", sha, "1", `lua:${key}`, interval, String(period)],
      );
      return reply[0] === 1;
    },
    roundTrips: () => undefined,
    close: () => client.close(),
  };
}

async function rateLimiterFlexible(
  url: string,
  { limit, period }: Limit,
): Promise<Contestant> {
  const { RateLimiterRedis } = peer("rate-limiter-flexible");
  const client = await clientOf(url);
  const api = new RateLimiterRedis({
    storeClient: client,
    useRedisPackage: true,
    points: limit,
    duration: period / 1_000,
  });
  return {
    consume: (key) => api.consume(key).then(() => true, () => false),
    roundTrips: () => undefined,
    close: () => client.close(),
  };
}

async function rateLimitRedis(url: string, { limit, period }: Limit): Promise<Contestant> {
  const { RedisStore } = peer("rate-limit-redis");
  const client = await clientOf(url);
  const store = new RedisStore({
    prefix: "rlr:",
    sendCommand: (...command: string[]) => client.sendCommand(command),
  });
  store.init({ windowMs: period });
  return {
    consume: (key) =>
      store.increment(key).then(({ totalHits }: { totalHits: number }) => totalHits <= limit),
    roundTrips: () => undefined,
    close: () => client.close(),
  };
}

function redisGcra(url: string, { limit, period }: Limit): Contestant {
  const { Redis } = peer("ioredis");
  const client = new Redis(url);
  const api = peer("redis-gcra")({
    redis: client,
    keyPrefix: "rg",
    burst: limit,
    rate: limit,
    period,
  });
  return {
    consume: (key) => api.limit({ key }).then(({ limited }: { limited: boolean }) => !limited),
    roundTrips: () => undefined,
    close: () => client.quit(),
  };
}

async function upstash(url: string, { limit, period }: Limit): Promise<Contestant> {
  const { Redis } = peer("@upstash/redis");
  const { Ratelimit } = peer("@upstash/ratelimit");
  const rest = await restServer(url);
  const redis = new Redis({ url: rest.url, token: "any", enableTelemetry: false });
  const api = new Ratelimit({
    redis,
    limiter: Ratelimit.fixedWindow(limit, `${period} ms`),
    enableTelemetry: false,
    timeout: 0,
  });
  return {
    consume: (key) => api.limit(key).then(({ success }: { success: boolean }) => success),
    roundTrips: () => undefined,
    close: rest.close,
  };
}
