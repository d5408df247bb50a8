/*
 * The rate limit header fields.
 *
 * Every policy is written, in the order of configuration, under the same name in both fields. `q`
 * and `r` are rounded down, `w` and `t` up. `t` is the time until `r` next grows, and is left out
 * if `r` will not grow. That agrees both with revision 10 of the draft ("until additional quota is
 * made available") and with revision 11 ("the seconds within which the client can use no more than
 * the available quota"). The older forms state only one policy: the policy with the least quota
 * left, and the time until its quota is full.
 *
 * Source: draft-ietf-httpapi-ratelimit-headers, revisions 06, 07 and 11.
 */
import type { Policy } from "../../../core/algorithm.ts";
import { distinctNames } from "../../../core/algorithms/distinct_names.ts";
import { rangeError, typeError } from "../../../core/options/checks.ts";
import type { Decision } from "../../../core/decision.ts";

/**
 * The form of the header fields in which a response states the limit:
 *
 * | form | fields |
 * |---|---|
 * | `"draft-11"` | `RateLimit-Policy: "api";q=100;w=60` and `RateLimit: "api";r=50;t=30` |
 * | `"draft-7"` | `RateLimit-Policy: 100;w=60` and `RateLimit: limit=100, remaining=50, reset=30` |
 * | `"draft-6"` | `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset` (in seconds) |
 * | `"legacy"` | `X-RateLimit-Limit`, `X-RateLimit-Remaining`, `X-RateLimit-Reset` (Unix time) |
 */
export type HeaderForm = "draft-11" | "draft-7" | "draft-6" | "legacy";

/** A header field: its name and its value. */
export type HeaderField = readonly [name: string, value: string];

/** The unit of a quota; without it, clients assume requests. */
export type QuotaUnit = "requests" | "content-bytes" | "concurrent-requests";

/** The part of a decision that the fields need. */
export type QuotaLeft = Pick<Decision, "remaining" | "nextAfter" | "resetAfter">;

/** The options of `headerWriter`. */
export interface HeaderWriterOptions {
  /** Which fields to write; default `"draft-11"`; `false` for none. */
  readonly headers?: HeaderForm | readonly HeaderForm[] | false | undefined;
  /** The name of a unit of cost; default `"requests"`. */
  readonly unit?: QuotaUnit | undefined;
}

/**
 * Writes the fields for one answer.
 *
 * @param quotas The quota that is left of each policy, in the policies' order.
 * @param now Milliseconds since the Unix epoch; only the form `"legacy"` and windows by a calendar
 * need it.
 * @param partition Distinguishes the client's quota from the quotas of others; must not give away a
 * secret.
 */
export type HeaderWriter = (
  quotas: readonly QuotaLeft[],
  now: number,
  partition?: string,
) => HeaderField[];

const FORMS: readonly HeaderForm[] = ["draft-11", "draft-7", "draft-6", "legacy"];
/** The largest integer of a structured field. */
const LARGEST_INTEGER = 999_999_999_999_999;
const ACTION = "write rate limit headers";
const STRING_REGEXP = /^[\x20-\x7e]*$/;

/**
 * Makes the writer of the rate limit fields for some policies.
 *
 * @param policies The policies of algorithms. A policy without a period has the period `Infinity`.
 * Repeated names are numbered.
 * @throws {RangeError} If a name holds anything but printable ASCII, a limit has more than 15
 * digits or a period is not above 0.
 * @throws {TypeError} If a form of header is unknown, or two forms write the same field.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { headerWriter } from "tidegate/http";
 * import assert from "node:assert/strict";
 *
 * const algorithm = gcra({ limit: 10, period: "1m", burst: 10, name: "api" });
 * const [decision] = algorithm.step(algorithm.initial, 0, 1);
 * assert.deepEqual(headerWriter(algorithm.policies)([decision], 0), [
 *   ["RateLimit-Policy", '"api";q=10;w=60'],
 *   ["RateLimit", '"api";r=9;t=6'],
 * ]);
 * ```
 */
export function headerWriter(
  policies: readonly Policy[],
  options: HeaderWriterOptions = {},
): HeaderWriter {
  const { headers, unit = "requests" } = options;
  const forms = readHeaderForms(ACTION, headers);
  policies.forEach(checkPolicy);
  const writesPolicy = forms.includes("draft-11") || forms.includes("draft-7");
  const writers = forms.map((form) =>
    form === "draft-11" ? draft11(policies, unit) : older(policies, form, writesPolicy)
  );

  const [only] = writers;
  return only !== undefined && writers.length === 1
    ? only
    : (quotas, now, partition) => writers.flatMap((write) => write(quotas, now, partition));
}

/**
 * Reads the option `headers`.
 *
 * @throws {TypeError} If a form is unknown, or two of them write the same field.
 */
export function readHeaderForms(
  action: string,
  headers: HeaderWriterOptions["headers"] = "draft-11",
): readonly HeaderForm[] {
  const forms = headers === false ? [] : typeof headers === "string" ? [headers] : headers;
  const unknown = Array.isArray(forms) ? forms.findIndex((form) => !FORMS.includes(form)) : 0;
  if (unknown !== -1) {
    const names = FORMS.map((form) => `"${form}"`).join(", ");
    const given = Array.isArray(forms) ? forms[unknown] : headers;
    throw typeError(action, `headers must be one or more of ${names}, or false`, given);
  }
  if (forms.includes("draft-11") && forms.includes("draft-7")) {
    const rule = 'headers must not be both "draft-11" and "draft-7", which write one field';
    throw typeError(action, rule, headers);
  }
  return FORMS.filter((form) => forms.includes(form));
}

function checkPolicy({ name, limit, period }: Policy): void {
  quoteString(name);
  if (!(limit <= LARGEST_INTEGER)) {
    throw rangeError(ACTION, "limit must have at most 15 digits", limit);
  }
  if (!(period > 0)) throw rangeError(ACTION, "period must be above 0", period);
}

function draft11(policies: readonly Policy[], unit: QuotaUnit): HeaderWriter {
  const names = distinctNames(policies).map(quoteString);
  const heads = names.map((name, index) => `${index === 0 ? "" : ", "}${name};r=`);
  const policyField = policyFieldOf(
    policies,
    (policy, index, window) =>
      `${names[index]};q=${Math.floor(policy.limit)}${window}${unitOf(unit)}`,
  );

  return function write(lefts, now, partition) {
    const key = partition === undefined ? "" : `;pk=${byteSequence(partition)}`;
    let value = "";
    for (let index = 0; index < heads.length; index++) {
      const { remaining, nextAfter } = lefts[index]!;
      const time = nextAfter > 0 ? `;t=${seconds(nextAfter)}` : "";
      value += heads[index]! + whole(remaining) + time + key;
    }
    return [policyField(now, key), ["RateLimit", value]];
  };
}

/** Writes the field of the policies. The part for each policy ends with the client's key. */
type PolicyField = (now: number, key: string) => HeaderField;

/** Writes the policies: once for all, unless windows differ in length. */
function policyFieldOf(
  policies: readonly Policy[],
  textOf: (policy: Policy, index: number, window: string) => string,
): PolicyField {
  const textsAt = (now: number) =>
    policies.map((policy, index) => textOf(policy, index, windowOf(policy, now)));
  const fieldOf = (texts: readonly string[], key: string): HeaderField => [
    "RateLimit-Policy",
    texts.map((text) => text + key).join(", "),
  ];
  // Calendar windows differ in length.
  if (policies.some(({ periodAt }) => periodAt !== undefined)) {
    return (now, key) => fieldOf(textsAt(now), key);
  }
  const texts = textsAt(0);
  const field = fieldOf(texts, "");
  return (_now, key) => key === "" ? field : fieldOf(texts, key);
}

/** The forms that state only one policy. */
function older(
  policies: readonly Policy[],
  form: Exclude<HeaderForm, "draft-11">,
  writesPolicy: boolean,
): HeaderWriter {
  const policyField = policyFieldOf(
    policies,
    ({ limit }, _index, window) => `${Math.floor(limit)}${window}`,
  );
  const hasPolicy = form === "draft-7" || (form === "draft-6" && !writesPolicy);
  const isLegacy = form === "legacy";
  const [ofLimit, ofRemaining, ofReset] = ["Limit", "Remaining", "Reset"].map((name) =>
    `${isLegacy ? "X-" : ""}RateLimit-${name}`
  ) as [string, string, string];
  return function write(lefts, now) {
    const { limit, remaining, reset } = scarcest(policies, lefts);
    const time = seconds(isLegacy ? now + reset : reset);
    const ofPolicy = hasPolicy ? [policyField(now, "")] : [];
    if (form === "draft-7") {
      const value = `limit=${limit}, remaining=${remaining}, reset=${time}`;
      return [...ofPolicy, ["RateLimit", value]];
    }
    return [
      ...ofPolicy,
      [ofLimit, String(limit)],
      [ofRemaining, String(remaining)],
      [ofReset, String(time)],
    ];
  };
}

/**
 * The policy with the least quota left, which is a refused policy if there is one; the first of
 * several.
 */
function scarcest(policies: readonly Policy[], lefts: readonly QuotaLeft[]) {
  let index = 0;
  for (let other = 1; other < policies.length; other++) {
    if (lefts[other]!.remaining < lefts[index]!.remaining) index = other;
  }
  const { remaining, resetAfter } = lefts[index]!;
  const limit = Math.floor(policies[index]!.limit);
  return { limit, remaining: whole(remaining), reset: resetAfter };
}

function windowOf({ period: usual, periodAt }: Policy, now: number): string {
  const period = periodAt === undefined ? usual : periodAt(now);
  // The field has whole seconds: a shorter window would be published as a longer one.
  return period === Infinity || period < 1_000 ? "" : `;w=${seconds(period)}`;
}

function unitOf(unit: QuotaUnit): string {
  return unit === "requests" ? "" : `;qu="${unit}"`;
}

function whole(remaining: number): number {
  return Math.min(LARGEST_INTEGER, Math.max(0, Math.floor(remaining)));
}

function seconds(milliseconds: number): number {
  return Math.min(LARGEST_INTEGER, Math.ceil(milliseconds / 1000));
}

/**
 * A string as a structured field holds it, in quotes.
 *
 * @throws {RangeError} If it holds anything but printable ASCII, such as a line break that would
 * begin a field of its own.
 */
function quoteString(text: string): string {
  if (!STRING_REGEXP.test(text)) {
    const rule = "a policy's name must be of printable ASCII characters";
    throw rangeError(ACTION, rule, text);
  }
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** Text as a byte sequence: its UTF-8 in base64, between colons. */
function byteSequence(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return `:${btoa(bytes.join(""))}:`;
}

/**
 * The field that says when to come back (RFC 9110, 10.2.3), in whole seconds. At least 1, because a
 * client that comes back at once would be refused again.
 *
 * @param milliseconds How long the client should wait; finite.
 */
export function retryAfterField(milliseconds: number): HeaderField {
  return ["Retry-After", String(Math.max(1, Math.ceil(milliseconds / 1000)))];
}
