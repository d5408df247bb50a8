/*
 * The typed failure of rate limiting: one error, whose reason is a class of its own, so that a
 * program catches all of them by one tag, or one of them by `Effect.catchReason`. Every other error
 * is a defect.
 */

import type * as Cause from "effect/Cause";
import * as Duration from "effect/Duration";
import * as Schema from "effect/Schema";

import { formatValue } from "../../core/options/checks.ts";
import { Decision } from "./decision.ts";

/** The class and the schema of a reason. */
export type ReasonClass<
  Self,
  Tag extends string,
  Fields extends Schema.Struct.Fields,
> = Schema.Class<Self, Schema.TaggedStruct<Tag, Fields>, Cause.YieldableError>;

/** The fields of `RateLimited`. */
export type RateLimitedFields = {
  /** The limit's prefix. */
  readonly prefix: typeof Schema.String;
  /** The owner of the units. */
  readonly key: typeof Schema.String;
  /** The requested units. */
  readonly cost: typeof Schema.Number;
  /** The time until the cost would be admitted. */
  readonly retryAfter: typeof Schema.DurationFromMillis;
  /** The refusal. */
  readonly decision: typeof Decision;
};

/** A limit refused, or a wait for one would have been too long. */
export interface RateLimited extends Cause.YieldableError {
  /** The tag for `Effect.catchReason`. */
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
export const RateLimited: ReasonClass<RateLimited, "RateLimited", RateLimitedFields> = class
  extends Schema.TaggedError<RateLimited>("tidegate/effect/RateLimited")("RateLimited", {
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
    } as the limit must have room: it would ${when}`;
  }
};

/** The fields of the reasons for which a store does not decide. */
export type StoreFailureFields = {
  /** Whether the call may have been charged nevertheless. */
  readonly applied: Schema.Literals<["no", "unknown"]>;
  /** Says what could not be done, and why. */
  readonly message: typeof Schema.String;
  /** The error that the store threw. */
  readonly cause: Schema.Defect;
};

/** A reason for which a store does not decide. */
export interface StoreFailure extends Cause.YieldableError {
  /** Whether the call may have been charged nevertheless. */
  readonly applied: "no" | "unknown";
  /** Says what could not be done, and why. */
  readonly message: string;
  /** The error that the store threw. */
  readonly cause: unknown;
}

const storeFailureFields: StoreFailureFields = {
  applied: Schema.Literals(["no", "unknown"]),
  message: Schema.String,
  cause: Schema.Defect(),
};

/** The store could not be reached, or not in time. */
export interface StoreUnavailable extends StoreFailure {
  /** The tag for `Effect.catchReason`. */
  readonly _tag: "StoreUnavailable";
}

/** The class and the schema of `StoreUnavailable`. */
export const StoreUnavailable: ReasonClass<
  StoreUnavailable,
  "StoreUnavailable",
  StoreFailureFields
> = Schema.TaggedError<StoreUnavailable>("tidegate/effect/StoreUnavailable")(
  "StoreUnavailable",
  storeFailureFields,
);

/** The store lost the race for a key in every try that it has; nothing was charged. */
export interface StoreContention extends StoreFailure {
  /** The tag for `Effect.catchReason`. */
  readonly _tag: "StoreContention";
}

/** The class and the schema of `StoreContention`. */
export const StoreContention: ReasonClass<
  StoreContention,
  "StoreContention",
  StoreFailureFields
> = Schema.TaggedError<StoreContention>("tidegate/effect/StoreContention")(
  "StoreContention",
  storeFailureFields,
);

/** The store is full, and set to refuse new keys then; nothing was charged. */
export interface StoreFull extends StoreFailure {
  /** The tag for `Effect.catchReason`. */
  readonly _tag: "StoreFull";
}

/** The class and the schema of `StoreFull`. */
export const StoreFull: ReasonClass<StoreFull, "StoreFull", StoreFailureFields> = Schema
  .TaggedError<StoreFull>("tidegate/effect/StoreFull")("StoreFull", storeFailureFields);

/** Too many calls wait for the store: a refusal, not an outage; nothing was charged. */
export interface StoreOverloaded extends StoreFailure {
  /** The tag for `Effect.catchReason`. */
  readonly _tag: "StoreOverloaded";
}

/** The class and the schema of `StoreOverloaded`. */
export const StoreOverloaded: ReasonClass<
  StoreOverloaded,
  "StoreOverloaded",
  StoreFailureFields
> = Schema.TaggedError<StoreOverloaded>("tidegate/effect/StoreOverloaded")(
  "StoreOverloaded",
  storeFailureFields,
);

/** The fields of `PermitLost`. */
export type PermitLostFields = {
  /** The limit's prefix. */
  readonly prefix: typeof Schema.String;
  /** The owner of the units. */
  readonly key: typeof Schema.String;
  /** Says why it was lost. */
  readonly message: typeof Schema.String;
  /** The reason of the permit's signal. */
  readonly cause: Schema.Defect;
};

/** A permit was lost while it was held: others may hold its units now. */
export interface PermitLost extends Cause.YieldableError {
  /** The tag for `Effect.catchReason`. */
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
export const PermitLost: ReasonClass<PermitLost, "PermitLost", PermitLostFields> = Schema
  .TaggedError<PermitLost>("tidegate/effect/PermitLost")("PermitLost", {
    prefix: Schema.String,
    key: Schema.String,
    message: Schema.String,
    cause: Schema.Defect(),
  });

/** Why a call failed. */
export type RateLimitErrorReason =
  | RateLimited
  | StoreUnavailable
  | StoreContention
  | StoreFull
  | StoreOverloaded
  | PermitLost;

/** The schema of the reasons. */
export const RateLimitErrorReason: Schema.Union<[
  typeof RateLimited,
  typeof StoreUnavailable,
  typeof StoreContention,
  typeof StoreFull,
  typeof StoreOverloaded,
  typeof PermitLost,
]> = Schema.Union([
  RateLimited,
  StoreUnavailable,
  StoreContention,
  StoreFull,
  StoreOverloaded,
  PermitLost,
]);

/**
 * A call on a limit failed; `reason` says why.
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
 *   Effect.catchReason(
 *     "RateLimitError",
 *     "RateLimited",
 *     ({ prefix }) => Effect.succeed(`refused by ${prefix}`),
 *   ),
 * );
 *
 * const answer = await Effect.runPromise(Effect.provide(program, layerMemory()));
 * assert.equal(answer, "refused by api");
 * ```
 */
export interface RateLimitError extends Cause.YieldableError {
  /** The tag for `Effect.catchTag`. */
  readonly _tag: "RateLimitError";
  /** Why the call failed. */
  readonly reason: RateLimitErrorReason;
}

/** The class and the schema of `RateLimitError`. */
export const RateLimitError: ReasonClass<
  RateLimitError,
  "RateLimitError",
  { readonly reason: typeof RateLimitErrorReason }
> = class extends Schema.TaggedError<RateLimitError>("tidegate/effect/RateLimitError")(
  "RateLimitError",
  { reason: RateLimitErrorReason },
) {
  /** The reason. */
  override readonly cause: RateLimitErrorReason = this.reason;

  /** The reason's message. */
  override get message(): string {
    return this.reason.message;
  }
};
