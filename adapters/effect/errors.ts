/*
 * The typed failures of rate limiting: a limit that refuses, and a store that does not answer. A
 * program can recover from either; every other error is a defect.
 */

import type * as Cause from "effect/Cause";
import * as Duration from "effect/Duration";
import * as Schema from "effect/Schema";

import { formatValue } from "../../core/options/checks.ts";
import { Decision } from "./decision.ts";

/** The fields of `RateLimited`. */
export type RateLimitedFields = Schema.TaggedStruct<"RateLimited", {
  readonly prefix: typeof Schema.String;
  readonly key: typeof Schema.String;
  readonly cost: typeof Schema.Number;
  readonly retryAfter: typeof Schema.DurationFromMillis;
  readonly decision: typeof Decision;
}>;

/**
 * A limit refused, or a wait for one would have been too long.
 *
 * It is a schema too, so that it travels through remote calls.
 *
 * @example
 * ```ts
 * import { Effect } from "effect";
 * import { gcra } from "tidegate";
 * import { layerMemory, limit, withLimit } from "tidegate/effect";
 * import assert from "node:assert/strict";
 *
 * const api = limit("api", gcra({ limit: 1, period: "1m", burst: 1 }));
 * const hello = withLimit(Effect.succeed("hello"), { limit: api, key: "user:42" });
 * const program = Effect.andThen(hello, hello).pipe(
 *   Effect.catchTag("RateLimited", (error) => Effect.succeed(`refused by ${error.prefix}`)),
 * );
 *
 * const answer = await Effect.runPromise(Effect.provide(program, layerMemory()));
 * assert.equal(answer, "refused by api");
 * ```
 */
export interface RateLimited extends Cause.YieldableError {
  /** The tag for `Effect.catchTag`. */
  readonly _tag: "RateLimited";
  /** The limit's prefix. */
  readonly prefix: string;
  /** The owner of the units. */
  readonly key: string;
  /** The requested units. */
  readonly cost: number;
  /** The time until the cost would be admitted; infinite if it never is. */
  readonly retryAfter: Duration.Duration;
  /** The refusal. */
  readonly decision: Decision;
}

/** The class and the schema of `RateLimited`. */
export const RateLimited: Schema.Class<RateLimited, RateLimitedFields, Cause.YieldableError> = class
  extends Schema.TaggedError<RateLimited>()("RateLimited", {
    prefix: Schema.String,
    key: Schema.String,
    cost: Schema.Number,
    retryAfter: Schema.DurationFromMillis,
    decision: Decision,
  }) {
  /** Says what was refused, and when it would be admitted. */
  override get message(): string {
    const when = Duration.isFinite(this.retryAfter)
      ? `be admitted in ${Duration.toMillis(this.retryAfter)} ms`
      : "never be admitted";
    return `Cannot take ${this.cost} of ${formatValue(this.key)} under ${
      formatValue(this.prefix)
    } as the ` +
      `limit must have room: it would ${when}`;
  }
};

/** Why a store did not answer. */
export type StoreErrorReason = "unavailable" | "contention" | "full" | "overloaded";

/** The fields of `RateLimitStoreError`. */
export type RateLimitStoreErrorFields = Schema.TaggedStruct<"RateLimitStoreError", {
  readonly reason: Schema.Literals<["unavailable", "contention", "full", "overloaded"]>;
  readonly applied: Schema.Literals<["no", "unknown"]>;
  readonly message: typeof Schema.String;
  readonly cause: Schema.Defect;
}>;

/** The store did not answer. */
export interface RateLimitStoreError extends Cause.YieldableError {
  /** The tag for `Effect.catchTag`. */
  readonly _tag: "RateLimitStoreError";
  /**
   * Why: it could not be reached in time (`"unavailable"`), lost the race for a key too often
   * (`"contention"`), is full and set to refuse then (`"full"`), or has too many calls waiting for
   * it (`"overloaded"`), which is a refusal, not an outage.
   */
  readonly reason: StoreErrorReason;
  /** Whether the call may nevertheless have been charged. */
  readonly applied: "no" | "unknown";
  /** Says what could not be done, and why. */
  readonly message: string;
  /** The error that the store threw. */
  readonly cause: unknown;
}

/** The class and the schema of `RateLimitStoreError`. */
export const RateLimitStoreError: Schema.Class<
  RateLimitStoreError,
  RateLimitStoreErrorFields,
  Cause.YieldableError
> = Schema.TaggedError<RateLimitStoreError>()("RateLimitStoreError", {
  reason: Schema.Literals(["unavailable", "contention", "full", "overloaded"]),
  applied: Schema.Literals(["no", "unknown"]),
  message: Schema.String,
  cause: Schema.Defect(),
});

/** The fields of `PermitLost`. */
export type PermitLostFields = Schema.TaggedStruct<"PermitLost", {
  readonly prefix: typeof Schema.String;
  readonly key: typeof Schema.String;
  readonly message: typeof Schema.String;
  readonly cause: Schema.Defect;
}>;

/** A permit was lost while it was held: others may hold its units now. */
export interface PermitLost extends Cause.YieldableError {
  /** The tag for `Effect.catchTag`. */
  readonly _tag: "PermitLost";
  /** The limit's prefix. */
  readonly prefix: string;
  /** The owner of the units. */
  readonly key: string;
  /** Says why: it could not be renewed, or was held for `maxHold`. */
  readonly message: string;
  /** The reason of the permit's signal. */
  readonly cause: unknown;
}

/** The class and the schema of `PermitLost`. */
export const PermitLost: Schema.Class<PermitLost, PermitLostFields, Cause.YieldableError> = Schema
  .TaggedError<PermitLost>()("PermitLost", {
    prefix: Schema.String,
    key: Schema.String,
    message: Schema.String,
    cause: Schema.Defect(),
  });
