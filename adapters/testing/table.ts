/*
 * Prints a sequence of calls as a text table: how counterexamples of all laws show what happened.
 */

import type { Decision } from "../../core/decision.ts";

/** One row of a counterexample. */
export interface Row {
  /** Milliseconds; `undefined` for the store's own time. */
  readonly now: number | undefined;
  /** Units; 0 looked, below 0 gave back. */
  readonly cost: number;
  /** The answer. */
  readonly decision?: Decision | undefined;
  /** The expected answer, where it differs. */
  readonly expected?: string | undefined;
  /** The stored key, where there are several. */
  readonly key?: string | undefined;
}

/** The most rows shown: the last ones, which lead up to the fault. */
const SHOWN = 40;

/**
 * Calls as a table of time, cost, decision and the expected decision.
 *
 * @param rows The calls, the oldest first; only the last 40 are shown.
 *
 * @example
 * ```ts
 * import { gcra } from "tidegate";
 * import { table } from "tidegate/testing";
 * import assert from "node:assert/strict";
 *
 * const { step, initial } = gcra({ limit: 2, period: "1s", burst: 2 });
 * const [decision] = step(initial, 1_000, 1);
 * assert.match(table([{ now: 1_000, cost: 1, decision }]), /1000 +1 +allowed, 1 left/);
 * ```
 */
export function table(rows: readonly Row[]): string {
  const keyed = rows.some((row) => row.key !== undefined);
  const cells = rows.slice(-SHOWN).map((row) => [
    ...(keyed ? [row.key ?? ""] : []),
    String(row.now ?? ""),
    String(row.cost),
    row.decision === undefined ? "" : inWords(row.decision),
    row.expected ?? "",
  ]);
  const head = [...(keyed ? ["key"] : []), "time", "cost", "decision", "expected"];
  const lines = [head, ...cells];
  const widths = head.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  return lines
    .map((line) => line.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ").trimEnd())
    .join("\n");
}

/** A decision on one line, without durations of 0 and absent fields; the debt is not shown. */
export function inWords(decision: Decision): string {
  const durations = (["retryAfter", "nextAfter", "resetAfter", "delay"] as const)
    .filter((field) => decision[field] !== 0)
    .map((field) => `${field} ${decision[field]}`);
  return [
    `${decision.allowed ? "allowed" : "refused"}, ${decision.remaining} left of ${decision.limit}`,
    ...durations,
    ...(decision.source === undefined ? [] : [`by ${decision.source}`]),
    ...(decision.parts === undefined ? [] : [`[${decision.parts.map(inWords).join(" | ")}]`]),
  ].join(", ");
}
