/*
 * Notes what requests are about while a log is read: a byte for each, and a few facts about all.
 * Paths come from attackers, so only a bounded number of them is kept.
 */

import type { Field } from "./layout.ts";
import { LOGS_IN, markOf, pathOf, type RequestPart } from "./request_fields.ts";
import type { RequestsSeen } from "./trace.ts";

/** Notes what the requests of a block are about. */
export interface RequestMarks {
  /** The mark of the line that was read last. */
  next(): number;
  /** The marks since the last call. */
  take(): RequestsSeen;
}

const MAX_LOGINS = 50;
const LONGEST_PATH = 100;

/** Makes notes of lines, whose fields `text` reads. */
export function requestMarks(
  { method, path, status }: Readonly<Record<RequestPart, Field | undefined>>,
  text: (field: Field) => string | undefined,
): RequestMarks {
  let refused = 0;
  let logins = new Map<string, number>();
  return {
    next() {
      const own = path === undefined ? "" : pathOf(text(path) ?? "");
      const mark = markOf(method === undefined ? "" : text(method) ?? "", own);
      if (status !== undefined && text(status) === "429") refused++;
      if ((mark & LOGS_IN) !== 0) {
        const name = own.slice(0, LONGEST_PATH);
        const before = logins.get(name);
        if (before !== undefined || logins.size < MAX_LOGINS) logins.set(name, (before ?? 0) + 1);
      }
      return mark;
    },
    take() {
      const seen = { hasPaths: path !== undefined, refused, logins: [...logins] };
      refused = 0;
      logins = new Map();
      return seen;
    },
  };
}

/** The marks of two parts of a log, joined. */
export function bothSeen(
  one: RequestsSeen | undefined,
  other: RequestsSeen | undefined,
): RequestsSeen | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const logins = new Map(one.logins);
  for (const [path, requests] of other.logins) {
    logins.set(path, (logins.get(path) ?? 0) + requests);
  }
  return {
    hasPaths: one.hasPaths || other.hasPaths,
    refused: one.refused + other.refused,
    // The most frequent ones stay: an attacker who makes up paths asks for each only once.
    logins: [...logins].sort(([, a], [, b]) => b - a).slice(0, MAX_LOGINS),
  };
}
