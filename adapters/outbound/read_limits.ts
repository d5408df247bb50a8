/*
 * The limits that servers state in their responses, in each form that is in use.
 *
 * | form | who |
 * |---|---|
 * | `RateLimit: "name";r=0;t=30`, `RateLimit-Policy` | the draft since revision 8; Cloudflare |
 * | `RateLimit: limit=100, remaining=50, reset=5` | revision 7 |
 * | `RateLimit-Limit`, `-Remaining`, `-Reset` | revision 6; GitLab, with an instant as the reset |
 * | `X-RateLimit-...`, `X-Rate-Limit-...` | GitHub, X, Reddit, Discord (and `-Reset-After`), many more |
 * | `X-RateLimit-Remaining-Tokens`, ... | OpenAI: one set for each thing that is limited |
 * | `Anthropic-RateLimit-Tokens-Remaining`, ... | Anthropic: the same, in another order |
 */
import { parseHttpDate, parseWait, waitOf } from "./parse_waits.ts";
import { type BareItem, parseStructuredList } from "./parse_structured_list.ts";

/** One limit of a server, with the facts that the server states. */
export interface Quota {
  /** The server's name for the limit; `""` if it has no name. */
  readonly name: string;
  /** Units per window. */
  readonly limit: number | undefined;
  /** Units left. */
  readonly remaining: number | undefined;
  /** Milliseconds until there are more units. */
  readonly resetAfter: number | undefined;
}

/** The facts about limits in a response. */
export interface LimitsTold {
  /** Milliseconds to wait by `Retry-After`, `Retry-After-Ms` or `X-Ms-Retry-After-Ms`. */
  readonly retryAfter: number | undefined;
  /** The limits. */
  readonly quotas: readonly Quota[];
}

const VENDOR_REGEXP =
  /^(?:x-rate-?limit|ratelimit|anthropic-ratelimit)-(?:([a-z-]+)-)?(limit|remaining|reset-after|reset)(?:-([a-z-]+))?$/;
/** Names of fields that are read; the pattern would take quadratic time for long ones. */
const LONGEST_NAME = 128;
/** If two clocks differ by more than a day, one of them is wrong. */
const WIDEST_SKEW = 86_400_000;
/** How many limits of a response are read. */
const MAX_QUOTAS = 32;

/**
 * Reads the server's limits from a response, in the forms of the IETF's draft and of the usual
 * vendors. Malformed parts are left out. Never throws.
 *
 * @param headers The response's header fields.
 * @param now Milliseconds since the Unix epoch. Instants count from it, or from the server's `Date`
 * if that is within a day of `now`.
 *
 * @example
 * ```ts
 * import { readLimits } from "tidegate/fetch";
 * import assert from "node:assert/strict";
 *
 * const headers = new Headers({ RateLimit: '"api";r=0;t=30', "Retry-After": "31" });
 * assert.deepEqual(readLimits(headers, Date.now()), {
 *   retryAfter: 31_000,
 *   quotas: [{ name: "api", limit: undefined, remaining: 0, resetAfter: 30_000 }],
 * });
 * ```
 */
export function readLimits(headers: Pick<Headers, "get" | "forEach">, now: number): LimitsTold {
  const there = serverTime(headers.get("date"), now);
  const current = headers.get("ratelimit");
  const quotas = current === null ? [] : readDraft(current, headers.get("ratelimit-policy"), there);
  return {
    retryAfter: readRetryAfter(headers, there),
    quotas: quotas.length > 0 ? quotas : readTriples(headers, there),
  };
}

/**
 * The time by the server's clock, because the server's instants use that clock; our own time if the
 * server's is not plausible.
 */
function serverTime(field: string | null, now: number): number {
  const date = field === null ? undefined : parseHttpDate(field.trim(), now);
  return date !== undefined && Math.abs(date - now) <= WIDEST_SKEW ? date : now;
}

function readRetryAfter(headers: Pick<Headers, "get">, now: number): number | undefined {
  for (const name of ["retry-after-ms", "x-ms-retry-after-ms"]) {
    const milliseconds = parseWait(headers.get(name) ?? "", now, 1);
    if (milliseconds !== undefined) return milliseconds;
  }
  const field = headers.get("retry-after");
  return field === null ? undefined : parseWait(field, now);
}

/**
 * How long a server that refused asks to wait, in milliseconds: by `Retry-After`, otherwise until
 * the last of its exhausted limits is renewed; `undefined` if it does not say.
 */
export function waitFor({ retryAfter, quotas }: LimitsTold): number | undefined {
  if (retryAfter !== undefined) return retryAfter;
  const waits = quotas.flatMap(({ remaining, resetAfter }) =>
    remaining === 0 && resetAfter !== undefined ? [resetAfter] : []
  );
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/** Revisions 7 and later, which share the field's name. */
function readDraft(field: string, policy: string | null, now: number): readonly Quota[] {
  const dictionary = /^\s*(?:limit|remaining|reset)\s*=/.test(field);
  return dictionary ? readDictionary(field, now) : readItems(field, policy, now);
}

function readItems(field: string, policy: string | null, now: number): readonly Quota[] {
  const limits = new Map(
    (parseStructuredList(policy ?? "") ?? []).map((
      { value, parameters },
    ) => [value, countOf(parameters.get("q"))]),
  );
  const quotas: Quota[] = [];
  for (const { value, parameters } of (parseStructuredList(field) ?? []).slice(0, MAX_QUOTAS)) {
    const [remaining, time] = ["r", "t"].map((key) => countOf(parameters.get(key)));
    if (typeof value !== "string" || remaining === undefined) return [];
    quotas.push({
      name: value,
      limit: limits.get(value),
      remaining,
      resetAfter: time === undefined ? undefined : waitOf(time, now),
    });
  }
  return quotas;
}

function readDictionary(field: string, now: number): readonly Quota[] {
  const values: Record<string, number> = {};
  for (const member of field.slice(0, 256).split(",")) {
    const match = /^\s*(limit|remaining|reset)\s*=\s*(\d{1,15})\s*(?:;.*)?$/.exec(member);
    if (match !== null) values[match[1]!] = Number(match[2]);
  }
  const { limit, remaining, reset } = values;
  if (remaining === undefined) return [];
  const resetAfter = reset === undefined ? undefined : waitOf(reset, now);
  return [{ name: "", limit, remaining, resetAfter }];
}

/** The forms in which limit, remaining and reset are fields of their own. */
function readTriples(headers: Pick<Headers, "get" | "forEach">, now: number): readonly Quota[] {
  const found = new Map<string, Map<string, string>>();
  headers.forEach((value, name) => {
    const match = name.length > LONGEST_NAME ? null : VENDOR_REGEXP.exec(name.toLowerCase());
    if (match === null) return;
    const [, before, part = "", after] = match;
    const quota = before ?? after ?? "";
    if (!found.has(quota) && found.size >= MAX_QUOTAS) return;
    found.set(quota, (found.get(quota) ?? new Map()).set(part, value));
  });
  return [...found].map(([name, fields]) => {
    const reset = fields.get("reset-after") ?? fields.get("reset");
    return {
      name,
      limit: wholeNumber(fields.get("limit")),
      remaining: wholeNumber(fields.get("remaining")),
      resetAfter: reset === undefined ? undefined : parseWait(reset, now),
    };
  });
}

/** An integer of a structured field that is not below zero. */
function countOf(value: BareItem | undefined): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** A number in a field of its own, rounded down: some send fractions. */
function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined || !/^\s*\d{1,15}(\.\d+)?\s*$/.test(text)) return undefined;
  return Math.floor(Number(text));
}
