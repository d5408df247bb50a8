/*
 * Generates traffic to try limits on, if you have no log: a CSV of times and clients. A seed makes
 * it repeatable, so that runs can be compared.
 *
 *   bun examples/traffic.ts attack | npx tidegate replay - --rule gcra:60/1m,burst=60
 *   bun examples/traffic.ts attack 6 40        6 requests a second, for 40 minutes
 */
import process from "node:process";
import { pathToFileURL } from "node:url";

/**
 * Kinds of traffic.
 *
 * | kind | what comes |
 * |---|---|
 * | `"steady"` | requests at random, at one rate: a Poisson process |
 * | `"bursts"` | clients at random, each with some ten requests within two seconds |
 * | `"stampede"` | steady ones, and every client within a fifth of a second of each full minute |
 * | `"attack"` | steady ones, and one client with nine times as many in the middle third |
 */
export type TrafficKind = "steady" | "bursts" | "stampede" | "attack";

/** The options of `traffic`. */
export interface TrafficOptions {
  /** How many clients there are; default 100. */
  readonly clients?: number;
  /** Requests per second of all clients together, on average; default 20. */
  readonly rate?: number;
  /** How long, in milliseconds; default 10 minutes. */
  readonly duration?: number;
  /** The same seed makes the same traffic; default 1. */
  readonly seed?: number;
}

const START = Date.UTC(2026, 0, 1);
const ATTACKER = "203.0.113.66";
const BURST = 10;
const SECOND = 1_000;
const MINUTE = 60_000;

/** Generates requests, in order of time. */
export function* traffic(
  kind: TrafficKind,
  { clients = 100, rate = 20, duration = 10 * MINUTE, seed = 1 }: TrafficOptions = {},
): Generator<{ readonly at: number; readonly key: string; readonly cost: number }> {
  const random = randomNumbers(seed);
  const anyone = () => addressOf(Math.floor(random() * clients));
  /** Requests that have been generated but not yet yielded. */
  let coming: { at: number; key: string; cost: number }[] = [];
  function come(at: number, key: string): void {
    coming.push({ at: Math.floor(START + at), key, cost: 1 });
  }

  for (let second = 0; second < duration; second += SECOND) {
    const end = Math.min(second + SECOND, duration);
    const starts = kind === "bursts" ? rate / BURST : rate;
    for (const at of arrivals(second, end, starts, random)) {
      const key = anyone();
      come(at, key);
      if (kind !== "bursts") continue;
      for (let more = 1; more < BURST; more++) come(at + random() * 2 * SECOND, key);
    }
    if (kind === "attack" && second >= duration / 3 && second < duration * 2 / 3) {
      for (const at of arrivals(second, end, 9 * rate, random)) come(at, ATTACKER);
    }
    if (kind === "stampede" && second % MINUTE === 0) {
      for (let client = 0; client < clients; client++) {
        come(second + random() * 200, addressOf(client));
      }
    }
    coming.sort((one, other) => one.at - other.at);
    const later = coming.findIndex(({ at }) => at >= START + end);
    yield* later === -1 ? coming : coming.slice(0, later);
    coming = later === -1 ? [] : coming.slice(later);
  }
}

/** Instants of a Poisson process: as many a second as `rate`, on average. */
function* arrivals(
  from: number,
  to: number,
  rate: number,
  random: () => number,
): Generator<number> {
  for (let at = from;;) {
    at -= Math.log(1 - random()) / rate * SECOND;
    if (at >= to) return;
    yield at;
  }
}

function addressOf(client: number): string {
  return `10.${client >>> 16 & 255}.${client >>> 8 & 255}.${client & 255}`;
}

/** Numbers from 0 to 1, the same for the same seed. Source: T. Ettinger, mulberry32. */
function randomNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [kind = "steady", rate = "20", minutes = "10"] = process.argv.slice(2);
  const options = { rate: Number(rate), duration: Number(minutes) * MINUTE };
  const lines = ["time,client"];
  for (const { at, key } of traffic(kind as TrafficKind, options)) {
    lines.push(`${new Date(at).toISOString()},${key}`);
  }
  process.stdout.write(`${lines.join("\n")}\n`);
}
