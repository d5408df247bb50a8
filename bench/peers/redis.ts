/*
 * Decisions on Redis: a second, and microseconds of Redis's own processor time for each, by 64
 * callers in one process. All contestants are those of bench/redis.ts.
 */
import { median } from "../measure.ts";
import { connect } from "../redis/contestants.ts";
import { hot, load, zipf } from "../redis/load.ts";
import { startServer } from "../redis/server.ts";
import { versionOf } from "./peer.ts";
import type { Row } from "./results.ts";

/** The name of each contestant, the package whose version is shown, and what it leaves out. */
const CONTESTANTS: readonly (readonly [name: string, title: string, note: string])[] = [
  ["script", 'tidegate, commit: "script"', "exact; batched; every field of the decision"],
  ["cas", 'tidegate, commit: "cas"', "the same"],
  ["watch", 'tidegate, commit: "watch"', "the same, on servers that permit no script"],
  ["lua", "GCRA in Lua by hand", "float milliseconds; no deadline, no answer while Redis is away"],
  ["rate-limiter-flexible", "rate-limiter-flexible", "fixed windows; refusals count, too"],
  ["rate-limit-redis", "rate-limit-redis", "counts; fixed windows; refusals count, too"],
  ["redis-gcra", "redis-gcra", "the time of the caller; float milliseconds"],
  ["@upstash/ratelimit", "@upstash/ratelimit", "over HTTP, to a stand-in in this process"],
];

const CASES = [["one key", hot], ["10,000 keys", () => zipf(10_000)]] as const;

/** Decisions a second, and what they cost Redis. */
export async function redisRows(isShort: boolean): Promise<Row[]> {
  const milliseconds = isShort ? 150 : 500;
  const rounds = isShort ? 1 : 5;
  const figures = new Map<string, number[]>();
  const note = (of: string, figure: number) => figures.set(of, [...figures.get(of) ?? [], figure]);
  const server = await startServer();
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [title, keysOf] of CASES) {
        for (const [name] of CONTESTANTS) {
          const contestant = await connect(name, server.url, false);
          const keys = keysOf();
          await load(contestant, 64, milliseconds / 2, keys);
          const before = await server.processorTime();
          const { decisions, seconds } = await load(contestant, 64, milliseconds, keys);
          const used = await server.processorTime() - before;
          await contestant.close();
          note(`${name}: ${title}`, decisions / seconds);
          note(`${name}: ${title}, µs of Redis`, used * 1e6 / decisions);
        }
      }
    }
  } finally {
    await server.stop();
  }
  const columns = CASES.flatMap(([title]) => [title, `${title}, µs of Redis`]);
  return CONTESTANTS.map(([name, title, note]) => ({
    name: title,
    version: title === name ? versionOf(name) : null,
    note,
    values: Object.fromEntries(
      columns.map((column) => [column, median(figures.get(`${name}: ${column}`)!)]),
    ),
  }));
}
