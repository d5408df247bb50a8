/*
 * The problems that the rate limit middleware answers with, as typed errors of an `HttpApi`: the
 * API declares them, and its clients can catch them by tag.
 */

import type * as Cause from "effect/Cause";
import type * as Duration from "effect/Duration";
import type * as HttpServerRespondable from "effect/http/HttpServerRespondable";
import * as Schema from "effect/Schema";

import { HttpApiError } from "../needs_effect_4_1.ts";

/** A problem (RFC 9457). */
export interface RateLimitProblem extends Cause.YieldableError, HttpServerRespondable.Respondable {
  /** A description of the event, for people to read. */
  readonly detail?: string;
  /** Which occurrence of the problem it was. */
  readonly instance?: string;
}

/** The refusal of a request that may be sent again later. */
export interface RetryableProblem extends RateLimitProblem {
  /** The names of the policies whose quota was exceeded. */
  readonly "violated-policies": readonly string[];
  /**
   * How long to wait, for `Effect.retry`; absent if the same request would never be admitted, or
   * the server does not know.
   */
  readonly retryAfter?: Duration.Duration;
}

/** The extension fields of the problems with a time to come back. */
export type RetryableFields = {
  /** The names of the policies whose quota was exceeded. */
  readonly "violated-policies": Schema.$Array<typeof Schema.String>;
  /** The time to wait, encoded as milliseconds. */
  readonly retryAfter: Schema.optionalKey<typeof Schema.DurationFromMillis>;
};

/** The class and the schema of a problem. */
export type RateLimitProblemClass<
  Self,
  Tag extends string,
  Type extends string,
  Status extends number,
  Fields extends Schema.Struct.Fields = Record<never, never>,
> = HttpApiError.ProblemClass<Self, Tag, Type, Status, Fields, unknown>;

const retryableFields: RetryableFields = {
  "violated-policies": Schema.Array(Schema.String),
  retryAfter: Schema.optionalKey(
    Schema.DurationFromMillis.annotate({ description: "Milliseconds to wait" }),
  ),
};

/** 429: the client has used up a quota. */
export interface QuotaExceeded extends RetryableProblem {
  /** The tag for `Effect.catchTag`. */
  readonly _tag: "QuotaExceeded";
}

/** The class and the schema of `QuotaExceeded`. */
export const QuotaExceeded: RateLimitProblemClass<
  QuotaExceeded,
  "QuotaExceeded",
  "https://iana.org/assignments/http-problem-types#quota-exceeded",
  429,
  RetryableFields
> = HttpApiError.Problem<QuotaExceeded, unknown>()("QuotaExceeded", {
  type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
  status: 429,
  title: "Quota Exceeded",
}, retryableFields);

/** 503: the store did not answer, and its failure policy is to refuse. */
export interface TemporaryReducedCapacity extends RetryableProblem {
  /** The tag for `Effect.catchTag`. */
  readonly _tag: "TemporaryReducedCapacity";
}

/** The class and the schema of `TemporaryReducedCapacity`. */
export const TemporaryReducedCapacity: RateLimitProblemClass<
  TemporaryReducedCapacity,
  "TemporaryReducedCapacity",
  "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
  503,
  RetryableFields
> = HttpApiError.Problem<TemporaryReducedCapacity, unknown>()("TemporaryReducedCapacity", {
  type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
  status: 503,
  title: "Temporary Reduced Capacity",
}, retryableFields);

/** 403: the client's address is not known, and the options refuse such clients. */
export interface UnknownAddress extends RateLimitProblem {
  /** The tag for `Effect.catchTag`. */
  readonly _tag: "UnknownAddress";
}

/** The class and the schema of `UnknownAddress`. */
export const UnknownAddress: RateLimitProblemClass<
  UnknownAddress,
  "UnknownAddress",
  "about:blank",
  403
> = HttpApiError.Problem<UnknownAddress, unknown>()("UnknownAddress", {
  type: "about:blank",
  status: 403,
  title: "Forbidden",
});

/** 431: the client's key is longer than a store should keep. */
export interface KeyTooLong extends RateLimitProblem {
  /** The tag for `Effect.catchTag`. */
  readonly _tag: "KeyTooLong";
}

/** The class and the schema of `KeyTooLong`. */
export const KeyTooLong: RateLimitProblemClass<KeyTooLong, "KeyTooLong", "about:blank", 431> =
  HttpApiError.Problem<KeyTooLong, unknown>()("KeyTooLong", {
    type: "about:blank",
    status: 431,
    title: "Request Header Fields Too Large",
  });

/**
 * Every problem that the middleware answers with: those above, and for a request without a key, or
 * with a key that is not text, the 400 of Effect's own that a request has which does not decode.
 */
export type RateLimitProblems =
  | QuotaExceeded
  | TemporaryReducedCapacity
  | UnknownAddress
  | KeyTooLong
  | HttpApiError.BadRequestProblem;
