/**
 * The kinds of refusal that the draft of the RateLimit fields registers:
 *
 * | kind | status | when |
 * |---|---|---|
 * | `"quota-exceeded"` | 429 | the client has used up a quota |
 * | `"temporary-reduced-capacity"` | 503 | the server cannot serve, whatever the client did |
 * | `"abnormal-usage-detected"` | 429 | the client's pattern of requests looks harmful |
 */
export type ProblemKind =
  | "quota-exceeded"
  | "temporary-reduced-capacity"
  | "abnormal-usage-detected";

/** The body of a refusal (RFC 9457), of type `application/problem+json`. */
export interface Problem {
  /** Names the kind of problem. */
  readonly type: string;
  /** The kind in words. */
  readonly title: string;
  /** The response's status. */
  readonly status: number;
  /** The names of the policies whose quota was exceeded. */
  readonly "violated-policies": readonly string[];
}

/** The content type of a problem. */
export const PROBLEM_TYPE = "application/problem+json";

const KINDS: Readonly<Record<ProblemKind, { readonly title: string; readonly status: number }>> = {
  "quota-exceeded": { title: "Quota Exceeded", status: 429 },
  "temporary-reduced-capacity": { title: "Temporary Reduced Capacity", status: 503 },
  "abnormal-usage-detected": { title: "Abnormal Usage Detected", status: 429 },
};

/**
 * The problem of a refusal.
 *
 * @param kind The kind of refusal.
 * @param violated The names of the policies whose quota was exceeded.
 *
 * @example
 * ```ts
 * import { problem } from "tidegate/http";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(problem("quota-exceeded", ["hourly"]), {
 *   type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
 *   title: "Quota Exceeded",
 *   status: 429,
 *   "violated-policies": ["hourly"],
 * });
 * ```
 */
export function problem(kind: ProblemKind, violated: readonly string[]): Problem {
  const { title, status } = KINDS[kind];
  const type = `https://iana.org/assignments/http-problem-types#${kind}`;
  return { type, title, status, "violated-policies": violated };
}
