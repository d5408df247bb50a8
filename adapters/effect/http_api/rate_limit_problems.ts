/*
 * The problems that the rate limit middleware answers with, as typed errors of an `HttpApi`: the
 * API declares them, and its clients can catch them by tag.
 */

import type * as Cause from "effect/Cause";
import type * as HttpServerRespondable from "effect/http/HttpServerRespondable";
import * as Schema from "effect/Schema";

import { HttpApiError } from "../needs_effect_4_1.ts";

/** The common fields of the problems of rate limiting (RFC 9457). */
export interface RateLimitProblem extends Cause.YieldableError, HttpServerRespondable.Respondable {
  /** The names of the policies whose quota was exceeded. */
  readonly "violated-policies": readonly string[];
  /** A description of the event, for people to read. */
  readonly detail?: string;
  /** Which occurrence of the problem it was. */
  readonly instance?: string;
}

/** The extension field of the problems. */
export type ViolatedPolicies = {
  /** The names of the policies whose quota was exceeded. */
  readonly "violated-policies": Schema.$Array<typeof Schema.String>;
};

/** The class and the schema of a problem. */
export type RateLimitProblemClass<
  Self,
  Tag extends string,
  Kind extends string,
  Status extends number,
> = HttpApiError.ProblemClass<
  Self,
  Tag,
  `https://iana.org/assignments/http-problem-types#${Kind}`,
  Status,
  ViolatedPolicies,
  unknown
>;

const violatedPolicies: ViolatedPolicies = {
  "violated-policies": Schema.Array(Schema.String),
};

/** 429: the client has used up a quota. */
export interface QuotaExceeded extends RateLimitProblem {
  /** The tag for `Effect.catchTag`. */
  readonly _tag: "QuotaExceeded";
}

/** The class and the schema of `QuotaExceeded`. */
export const QuotaExceeded: RateLimitProblemClass<
  QuotaExceeded,
  "QuotaExceeded",
  "quota-exceeded",
  429
> = HttpApiError.Problem<QuotaExceeded, unknown>()("QuotaExceeded", {
  type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
  status: 429,
  title: "Quota Exceeded",
}, violatedPolicies);

/** 503: the store did not answer, and its failure policy is to refuse. */
export interface TemporaryReducedCapacity extends RateLimitProblem {
  /** The tag for `Effect.catchTag`. */
  readonly _tag: "TemporaryReducedCapacity";
}

/** The class and the schema of `TemporaryReducedCapacity`. */
export const TemporaryReducedCapacity: RateLimitProblemClass<
  TemporaryReducedCapacity,
  "TemporaryReducedCapacity",
  "temporary-reduced-capacity",
  503
> = HttpApiError.Problem<TemporaryReducedCapacity, unknown>()("TemporaryReducedCapacity", {
  type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
  status: 503,
  title: "Temporary Reduced Capacity",
}, violatedPolicies);
