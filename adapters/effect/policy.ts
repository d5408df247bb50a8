/*
 * Policies as data: a schema for the options of every algorithm, so that limits can come from the
 * configuration (limit_config.ts) and are validated when it is read.
 */

import * as Duration from "effect/Duration";
import * as Effect from "effect/Effect";
import * as Option from "effect/Option";
import * as Schema from "effect/Schema";

import type { Algorithm } from "../../core/algorithm.ts";
import { all } from "../../core/algorithms/all.ts";
import type { OptionData, OptionKind } from "../../core/options/options_data.ts";
import { type Period, readPeriod as periodOf } from "../../core/options/period.ts";
import {
  ALGORITHM_NAMES,
  type AlgorithmName,
  algorithmOf as algorithmOfOptions,
  type AlgorithmOptions,
  ALGORITHMS,
} from "../../core/rules/limit_options.ts";
import { Result, SchemaGetter, SchemaIssue } from "./needs_effect_4_1.ts";

/** An algorithm with its options, as data. */
export type SinglePolicy = {
  readonly [Name in AlgorithmName]: PolicyOptions<AlgorithmOptions[Name]> & {
    /** The algorithm. */
    readonly algorithm: Name;
  };
}[AlgorithmName];

/** The options of a factory, with durations in place of periods. */
export type PolicyOptions<Options> = Options extends unknown
  ? { readonly [Name in keyof Options]: InDurations<Exclude<Options[Name], undefined>> }
  : never;

/** Durations in place of the periods that an option takes. */
export type InDurations<Value> = Period extends Value ? Duration.Duration
  : Value extends readonly Period[] ? readonly Duration.Duration[]
  : Value;

/** Several policies on one key, all or nothing. */
export interface AllPolicy {
  /**
   * Several policies. A policy of any other algorithm has the options of its factory, with durations
   * in place of periods.
   */
  readonly algorithm: "all";
  /** At least one. */
  readonly policies: readonly [Policy, ...Policy[]];
}

/** One algorithm with its options, or several, as data. */
export type Policy = SinglePolicy | AllPolicy;

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

/** The message if no algorithm has the given name: `gcra`, the default, reports the mismatch. */
const OTHERWISE = 'Expected "gcra", or another algorithm with all of its options: ' +
  `${ALGORITHM_NAMES.slice(1).map((name) => `"${name}"`).join(", ")} or "all"`;

/** The schema of an option of a factory. */
function fieldOf({ default: value, isOptional, ...kind }: OptionData): Schema.Top {
  const schema = kindSchema(kind);
  return value === undefined && isOptional !== true ? schema : Schema.optionalKey(schema);
}

function kindSchema(kind: OptionKind): Schema.Top {
  switch (kind.kind) {
    case "integer":
      return Schema.Number;
    case "period":
      return PeriodSchema;
    case "text":
      return Schema.String;
    case "choice":
      return Schema.Literals(kind.choices);
    case "list":
      return Schema.Array(kindSchema(kind.items));
    case "either":
      return Schema.Union(kind.kinds.map(kindSchema));
  }
}

/** The schema of an algorithm's options; that of `gcra` needs no name. */
export function singlePolicy(algorithm: AlgorithmName): Schema.Top {
  const fields = Object.fromEntries(
    Object.entries(ALGORITHMS[algorithm].options).map(([name, data]) => [name, fieldOf(data)]),
  );
  const name = Schema.Literal(algorithm);
  const named = algorithm === "gcra"
    ? name.annotate({ message: OTHERWISE }).pipe(
      Schema.withDecodingDefaultKey(Effect.succeed(algorithm)),
    )
    : name;
  return Schema.Struct({ ...fields, algorithm: named });
}

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
export const Policy: Schema.Codec<Policy, unknown> = Schema.Union(
  [
    ...ALGORITHM_NAMES.map(singlePolicy),
    Schema.Struct({
      algorithm: Schema.Literal("all"),
      policies: Schema.NonEmptyArray(Schema.suspend((): Schema.Codec<Policy, unknown> => Policy)),
    }),
  ] as unknown as readonly Schema.Codec<Policy, unknown>[],
)
  .check(Schema.makeFilter((policy) => faultOf(policy)));

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

/** The message of an error. */
export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
