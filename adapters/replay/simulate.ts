/*
 * Generates traffic, so that limits can be tried without a log. A seed makes it repeatable, so
 * that runs can be compared.
 */

import { checkChoice, checkOptions, integerFrom } from "../../core/application_support.ts";
import type { LogEntry } from "./log/trace.ts";

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

/** The options of `simulate`. */
export interface SimulateOptions {
  /** How many clients there are; default 100. */
  readonly clients?: number | undefined;
  /** Requests per second of all clients together, on average; default 20. */
  readonly rate?: number | undefined;
  /** How long, in milliseconds; default 10 minutes. */
  readonly duration?: number | undefined;
  /** When it begins: milliseconds since the Unix epoch; default 1 January 2026. */
  readonly start?: number | undefined;
  /** The same seed makes the same traffic; default 1. */
  readonly seed?: number | undefined;
}

/** The kinds of traffic. */
export const TRAFFIC_KINDS: readonly TrafficKind[] = ["steady", "bursts", "stampede", "attack"];

const ATTACKER = "203.0.113.66";
const BURST = 10;
const SECOND = 1_000;
const MINUTE = 60_000;

/**
 * Generates traffic, in order of time.
 *
 * @param kind The kind of traffic.
 * @param options As above.
 * @throws {TypeError} If the kind is unknown.
 * @throws {RangeError} If an option is out of range.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { replay, simulate } from "tidegate/replay";
 * import assert from "node:assert/strict";
 *
 * const { candidates } = await replay(simulate("attack"), [
 *   { algorithm: gcra({ limit: 60, period: "1m" }) },
 * ]);
 * assert.equal(candidates[0]?.clients[0]?.key, "203.0.113.66");
 * ```
 */
export function* simulate(kind: TrafficKind, options: SimulateOptions = {}): Generator<LogEntry> {
  const action = "simulate traffic";
  checkOptions<SimulateOptions>(action, options, {
    clients: integerFrom(1),
    rate: integerFrom(1),
    duration: integerFrom(1),
    start: integerFrom(0),
    seed: integerFrom(0),
  });
  checkChoice(action, "kind", kind, TRAFFIC_KINDS);
  const { clients = 100, rate = 20, duration = 10 * MINUTE, seed = 1 } = options;
  const { start = Date.UTC(2026, 0, 1) } = options;
  const random = randomNumbers(seed);
  const anyone = () => addressOf(Math.floor(random() * clients));
  /** Requests that have been generated but not yet yielded. */
  let coming: LogEntry[] = [];
  function come(at: number, key: string): void {
    coming.push({ at: Math.floor(start + at), key, cost: 1 });
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
    const later = coming.findIndex(({ at }) => at >= start + end);
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
