/*
 * Policies as data: a schema for the options of every algorithm, so that limits can come from the
 * configuration and are validated when it is read.
 */

import * as Config from "effect/Config";
import type * as ConfigProvider from "effect/ConfigProvider";
import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Option from "effect/Option";
import * as Schema from "effect/Schema";

import type { Algorithm } from "../../core/algorithm.ts";
import { all } from "../../core/algorithms/all.ts";
import type { CalendarUnit } from "../../core/arithmetic/calendar.ts";
import { type Period, readPeriod as periodOf } from "../../core/options/period.ts";
import { algorithmOf as algorithmOfOptions } from "../../core/rules/limit_options.ts";
import { type Limit, limit, type LimitOptions } from "./limit.ts";
import { Result, SchemaGetter, SchemaIssue } from "./needs_effect_4_1.ts";

/** The options that every policy of a single limit has. */
export interface RatePolicy {
  /** Units admitted per period in the long run; a positive integer. */
  readonly limit: number;
  /** Whole milliseconds, at least one. */
  readonly period: Duration.Duration;
  /** The policy's name in headers; by default it is made of the numbers: `"100-in-60s"`. */
  readonly name?: string;
}

/** A policy with the units that a fresh key admits at once. */
export interface BurstPolicy extends RatePolicy {
  /** A positive integer. */
  readonly burst: number;
}

/** `gcra` as data. */
export interface GcraPolicy extends BurstPolicy {
  /** The algorithm. */
  readonly algorithm: "gcra";
}

/** `leakyBucket` as data. */
export interface LeakyBucketPolicy extends BurstPolicy {
  /** The algorithm. */
  readonly algorithm: "leakyBucket";
}

/** `tokenBucket` as data. */
export interface TokenBucketPolicy extends BurstPolicy {
  /** The algorithm. */
  readonly algorithm: "tokenBucket";
  /** How it is refilled: greedily unless given. */
  readonly refill?: "greedy" | "interval";
}

/** `leakyQueue` as data. */
export interface LeakyQueuePolicy extends RatePolicy {
  /** The algorithm. */
  readonly algorithm: "leakyQueue";
  /** How many calls may wait: 0 or more. */
  readonly queue: number;
  /** Units that start at once before others wait: 1 unless given. */
  readonly burst?: number;
}

/** `fixedWindow` as data. */
export interface FixedWindowPolicy extends RatePolicy {
  /** The algorithm. */
  readonly algorithm: "fixedWindow";
  /** Where windows begin: at multiples of the period since the Unix epoch unless given. */
  readonly anchor?: "epoch" | "first" | number;
}

/** `calendarWindow` as data. */
export interface CalendarWindowPolicy {
  /** The algorithm. */
  readonly algorithm: "calendarWindow";
  /** Units admitted in each window; a positive integer. */
  readonly limit: number;
  /** How long windows are, by the calendar. */
  readonly every: CalendarUnit;
  /** The IANA name of the time zone whose calendar counts. */
  readonly zone: string;
  /** The day that weeks begin with: Monday (1) unless given. */
  readonly weekStart?: number;
  /** The policy's name in headers; by default it is made of the numbers: `"100-per-month"`. */
  readonly name?: string;
}

/** `slidingWindow` as data. */
export interface SlidingWindowPolicy extends RatePolicy {
  /** The algorithm. */
  readonly algorithm: "slidingWindow";
  /** The length of a sub-bucket; it divides the period. */
  readonly precision: Duration.Duration;
}

/** `slidingLog` or `slidingCounter` as data. */
export interface SlidingPolicy extends RatePolicy {
  /** The algorithm. */
  readonly algorithm: "slidingLog" | "slidingCounter";
}

/** `lockout` as data. */
export interface LockoutPolicy extends RatePolicy {
  /** The algorithm. */
  readonly algorithm: "lockout";
  /** How long the key is locked; several durations, in order, for locks that grow. */
  readonly lock: Duration.Duration | readonly Duration.Duration[];
  /** How long a lock counts after its end (locks that grow). */
  readonly forget?: Duration.Duration;
}

/** `concurrency` as data. */
export interface ConcurrencyPolicy {
  /** The algorithm. */
  readonly algorithm: "concurrency";
  /** Units in use at once. */
  readonly limit: number;
  /** How long a permit is held without being renewed. */
  readonly ttl: Duration.Duration;
  /** The longest time for which a permit is renewed: an hour unless given. */
  readonly maxHold?: Duration.Duration;
  /** The policy's name in headers; by default it is made of the limit: `"10-at-once"`. */
  readonly name?: string;
}

/** Several policies on one key, all or nothing. */
export interface AllPolicy {
  /** The algorithm. */
  readonly algorithm: "all";
  /** At least one. */
  readonly policies: readonly [Policy, ...Policy[]];
}

/** An algorithm with its options, as data. */
export type Policy =
  | GcraPolicy
  | LeakyBucketPolicy
  | TokenBucketPolicy
  | LeakyQueuePolicy
  | FixedWindowPolicy
  | CalendarWindowPolicy
  | SlidingWindowPolicy
  | SlidingPolicy
  | LockoutPolicy
  | ConcurrencyPolicy
  | AllPolicy;

const PeriodSchema = Schema.Union([Schema.Number, Schema.String]).pipe(
  Schema.decodeTo(Schema.Duration, {
    decode: SchemaGetter.transformEffect((input: number | string, options) =>
      Effect.try({
        try: () => Duration.millis(readPeriod(input)),
        catch: (cause) =>
          new SchemaIssue.InvalidValue({ message: messageOf(cause) }, input, options),
      })
    ),
    encode: SchemaGetter.transform((duration) => Duration.toMillis(duration)),
  }),
);

const Base = {
  limit: Schema.Number,
  period: PeriodSchema,
  name: Schema.optionalKey(Schema.String),
};
/** The message if no algorithm has the given name: `gcra`, the default, reports the mismatch. */
const OTHERWISE = 'Expected "gcra", or another algorithm with all of its options: ' +
  '"leakyBucket", "tokenBucket", "leakyQueue", "fixedWindow", "calendarWindow", "slidingWindow", ' +
  '"slidingLog", "slidingCounter", "lockout", "concurrency" or "all"';
const Burst = { ...Base, burst: Schema.Number };

/**
 * The schema of policies, for configuration files and the environment.
 *
 * Encoded, a policy is plain JSON: durations are milliseconds, or text (`"10s"`, `"10 seconds"`).
 * `algorithm` is `"gcra"` unless given. Options that the algorithm's factory would refuse do not
 * decode, and the issue says why.
 *
 * @example
 * ```ts
 * import { Schema } from "effect";
 * import { algorithmOf, Policy } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const policy = Schema.decodeUnknownSync(Policy)({
 *   algorithm: "all",
 *   policies: [
 *     { limit: 5, period: "1s", burst: 5 },
 *     { algorithm: "slidingWindow", limit: 100, period: "1m", precision: "1 second" },
 *   ],
 * });
 * assert.equal(algorithmOf(policy).capacity, 5);
 * ```
 */
export const Policy: Schema.Codec<Policy, unknown> = Schema.Union([
  Schema.Struct({
    ...Burst,
    algorithm: Schema.Literal("gcra").annotate({ message: OTHERWISE }).pipe(
      Schema.withDecodingDefaultKey(Effect.succeed("gcra")),
    ),
  }),
  struct("leakyBucket", Burst),
  struct("tokenBucket", {
    ...Burst,
    refill: Schema.optionalKey(Schema.Literals(["greedy", "interval"])),
  }),
  struct("leakyQueue", {
    ...Base,
    queue: Schema.Number,
    burst: Schema.optionalKey(Schema.Number),
  }),
  struct("fixedWindow", {
    ...Base,
    anchor: Schema.optionalKey(
      Schema.Union([Schema.Literals(["epoch", "first"]), Schema.Number]),
    ),
  }),
  struct("calendarWindow", {
    limit: Schema.Number,
    every: Schema.Literals(["hour", "day", "week", "month", "year"]),
    zone: Schema.String,
    weekStart: Schema.optionalKey(Schema.Number),
    name: Schema.optionalKey(Schema.String),
  }),
  struct("slidingWindow", { ...Base, precision: PeriodSchema }),
  struct("slidingLog", Base),
  struct("slidingCounter", Base),
  struct("lockout", {
    ...Base,
    lock: Schema.Union([PeriodSchema, Schema.Array(PeriodSchema)]),
    forget: Schema.optionalKey(PeriodSchema),
  }),
  struct("concurrency", {
    limit: Schema.Number,
    ttl: PeriodSchema,
    maxHold: Schema.optionalKey(PeriodSchema),
    name: Schema.optionalKey(Schema.String),
  }),
  struct("all", {
    policies: Schema.NonEmptyArray(Schema.suspend((): Schema.Codec<Policy, unknown> => Policy)),
  }),
]).check(Schema.makeFilter((policy) => faultOf(policy)));

/**
 * The algorithm of a policy.
 *
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range. A decoded policy never causes this error.
 */
export function algorithmOf(policy: Policy): Algorithm {
  if (policy.algorithm === "all") return all(...policy.policies.map(algorithmOf));
  const options = Object.entries(policy).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(plainOf) : plainOf(value),
  ]);
  return algorithmOfOptions(Object.fromEntries(options));
}

/**
 * A limit from the configuration: the policy at a path, by the names of its options.
 *
 * With `ConfigProvider.constantCase` on the environment, the path `api` reads `API_LIMIT`,
 * `API_PERIOD`, `API_ALGORITHM` and so on; the parts of `all` are `API_POLICIES_0_LIMIT` and so on.
 *
 * @param prefix The beginning of the limit's keys in the store.
 * @param path Where the policy lies in the configuration; at the prefix unless given.
 * @param options The options of `limit`.
 *
 * @example From the environment
 * ```ts
 * import { ConfigProvider, Effect } from "effect";
 * import { limitConfig } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const env = { API_ALGORITHM: "tokenBucket", API_LIMIT: "100", API_PERIOD: "1m", API_BURST: "20" };
 * const provider = ConfigProvider.constantCase(ConfigProvider.fromEnv({ env }));
 *
 * const api = await Effect.runPromise(limitConfig("api").parse(provider));
 * assert.equal(api.algorithm.id, "tokenBucket/100/60000");
 * ```
 */
export function limitConfig(
  prefix: string,
  path: string | ConfigProvider.Path = prefix,
  options: LimitOptions = {},
): Config.Config<Limit> {
  return Config.map(
    Config.schema(Policy, path),
    (policy) => limit(prefix, algorithmOf(policy), options),
  );
}

function struct<Name extends string, Fields extends Schema.Struct.Fields>(
  name: Name,
  fields: Fields,
) {
  return Schema.Struct({ ...fields, algorithm: Schema.Literal(name) });
}

/** A value as the factories take it: durations as milliseconds. */
function plainOf(value: unknown): unknown {
  return Duration.isDuration(value) ? Duration.toMillis(value) : value;
}

/** Why a policy makes no algorithm; `undefined` if it does. */
function faultOf(policy: Policy): string | undefined {
  const made = Result.try({ try: () => algorithmOf(policy), catch: messageOf });
  return Result.isFailure(made) ? made.failure : undefined;
}

/** Milliseconds, tidegate's text (`"10s"`) or Effect's (`"10 seconds"`). */
function readPeriod(input: number | string): number {
  const duration = typeof input === "string" && input.includes(" ")
    ? Duration.fromInput(input as Duration.Input)
    : Option.none();
  return Option.isSome(duration)
    ? Duration.toMillis(duration.value)
    : periodOf("read a policy", "period", input as Period);
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
