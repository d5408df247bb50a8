/*
 * Compare and set on Postgres. A batch is one call of a function, in a transaction of its own.
 */

import { type CompareAndSet, type DriverCell, type DriverCommit, DriverError } from "../driver.ts";
import { fnv1a } from "../fnv1a.ts";
import { textAfterAll } from "../driver_keys.ts";
import {
  isLockTimeout,
  isNameLost,
  migrationFailure,
  postgresFailure,
  unreadableAnswer,
} from "./failures.ts";
import { type PostgresNames, postgresSchema, type PostgresSchemaOptions } from "./schema.ts";

/** Runs statements. */
export interface Statements {
  /**
   * Runs a statement, and returns its rows.
   *
   * @param name A name under which a connection may keep the statement, if it runs again and again.
   */
  run(
    text: string,
    values: readonly string[],
    name?: string,
  ): Promise<readonly Record<string, unknown>[]>;
  /** The most statements at a time. */
  readonly most: number;
  /** Releases the resources that were created here. The client stays open. */
  close?(): void | Promise<void>;
}

/** A key of a commit, with its group and its place in the group. */
interface Placed {
  readonly cell: DriverCell;
  readonly group: number;
  readonly index: number;
  /** The number of its group; 0 alone, less than 0 if nothing of the group is written. */
  readonly tie: number;
}

/** The most keys that are remembered as locked. */
const MOST_LOCKED = 1_000;

/** A driver that can make its table. */
export interface PostgresDriver extends CompareAndSet {
  migrate(): Promise<void>;
}

/** Makes the driver of a store. */
export function postgresDriver(
  statements: Statements,
  names: PostgresNames,
  options: PostgresSchemaOptions,
): PostgresDriver {
  const { table, commit } = names;
  const run = limitedRun(statements, names);
  const call = `SELECT ${commit}($1::text::text[], $2::text::text[], $3::text::text[], ` +
    "$4::text::bigint[], $5::text::integer[], $6::text::boolean) AS answer";
  const name = `tidegate_${fnv1a(call).toString(36)}`;
  let sweptTo = "";

  /** Keys that others kept locked a moment ago. */
  const locked = new Set<string>();

  /** Commits. If a lock is not to be had, it tries again without the keys that are locked. */
  async function commitPlaced(placed: readonly Placed[], signal: AbortSignal): Promise<string> {
    const isWary = locked.size > 0 && placed.some(({ cell }) => locked.has(cell.key));
    const values = valuesOf(placed);
    const [row] = await run(call, [...values, String(isWary)], name, signal).catch((error) => {
      if (isWary || !isLockTimeout(error)) throw error;
      return run(call, [...values, "true"], name, signal);
    });
    return String(row!["answer"]);
  }

  /** Remembers which keys are locked. Nothing depends on it but waits. */
  function noteLocked(placed: readonly Placed[], isLocked: (group: number) => boolean): void {
    for (const { cell: { key }, group } of placed) {
      if (isLocked(group)) locked.add(key);
      else locked.delete(key);
    }
    if (locked.size > MOST_LOCKED) locked.clear();
  }

  return {
    name: "Postgres",
    async commit(groups, signal) {
      const placed = placesOf(groups);
      const answer = await commitPlaced(placed, signal);
      try {
        const outcome = readAnswer(answer, placed, groups);
        const { locked: busy } = outcome;
        if (busy.length > 0 || locked.size > 0) noteLocked(placed, (group) => busy.includes(group));
        return outcome;
      } catch (error) {
        throw unreadableAnswer(names, error);
      }
    },
    async sweep(most) {
      const [row] = await run(sweepSql(table), [sweptTo, String(most)]);
      const { last, seen, swept } = row as Record<"last" | "seen" | "swept", unknown>;
      sweptTo = Number(seen) < most ? "" : String(last);
      return Number(swept);
    },
    async deletePrefix(beginning) {
      const values = [beginning, textAfterAll(beginning)];
      for (let deleted = "1"; deleted !== "0";) {
        const [row] = await run(deleteSql(table), values);
        deleted = String(row!["deleted"]);
      }
    },
    async list(beginning, after, most) {
      const values = [after || beginning, textAfterAll(beginning), String(most)];
      const rows = await run(listSql(table), values);
      return rows.map(({ key, state }) => [String(key), String(state)] as const);
    },
    async migrate() {
      try {
        await statements.run(postgresSchema(options), []);
      } catch (error) {
        throw migrationFailure(error, names);
      }
    },
    close: () => statements.close?.(),
  };
}

/** Runs a bounded number of statements at a time. A statement that waits can be aborted. */
function limitedRun(statements: Statements, names: PostgresNames) {
  const { most } = statements;
  const run = runByName(statements);
  let underWay = 0;
  const waiting: (() => void)[] = [];
  const aborted = () => new DriverError("Earlier statements are not answered", { applied: "no" });

  return async function limited(
    text: string,
    values: readonly string[],
    name?: string,
    signal?: AbortSignal,
  ) {
    while (underWay >= most) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        signal?.addEventListener("abort", () => resolve(), { once: true });
      });
      if (signal?.aborted) throw aborted();
    }
    underWay++;
    try {
      return await run(text, values, name);
    } catch (error) {
      throw postgresFailure(error, names);
    } finally {
      underWay--;
      waiting.shift()?.();
    }
  };
}

/**
 * Runs statements under their names, which saves a third of their time, because Postgres neither parses
 * nor plans them again. A pooler may lend another connection for each transaction. That connection may
 * not know the name, or may have given it to another statement. Postgres has then executed nothing, and
 * the store uses no more names.
 */
function runByName({ run }: Statements): Statements["run"] {
  let hasNames = true;
  return async function byName(text, values, name) {
    if (!hasNames || name === undefined) return await run(text, values);
    try {
      return await run(text, values, name);
    } catch (error) {
      if (!isNameLost(error)) throw error;
      hasNames = false;
      return await run(text, values);
    }
  };
}

/** All keys in the order of their bytes. */
function placesOf(groups: readonly (readonly DriverCell[])[]): readonly Placed[] {
  const placed: Placed[] = [];
  for (const [group, cells] of groups.entries()) {
    const writes = cells.length > 1 && cells.some(({ held, next }) => held !== next);
    const tie = cells.length === 1 ? 0 : writes ? group + 1 : -group - 1;
    for (const [index, cell] of cells.entries()) placed.push({ cell, group, index, tie });
  }
  return placed.sort(byPoints);
}

/** Compares by code points: they sort like bytes in UTF-8, and UTF-16 units do not. */
function byPoints({ cell: { key: a } }: Placed, { cell: { key: b } }: Placed): number {
  let at = 0;
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  // If only the second units of two characters differ, those units decide, in the same order.
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}

function valuesOf(placed: readonly Placed[]): readonly string[] {
  const textsOf = (name: "key" | "held" | "next") =>
    `{${placed.map(({ cell }) => quoted(cell[name])).join(",")}}`;
  const numbersOf = (numberOf: (place: Placed) => number) => `{${placed.map(numberOf).join(",")}}`;
  return [
    textsOf("key"),
    textsOf("held"),
    textsOf("next"),
    numbersOf(({ cell }) => cell.freshAt),
    placed.some(({ tie }) => tie !== 0) ? numbersOf(({ tie }) => tie) : null as never,
  ];
}

/** An element of an array literal of Postgres. */
function quoted(text: string): string {
  return /["\\]/.test(text) ? `"${text.replaceAll(/["\\]/g, "\\$&")}"` : `"${text}"`;
}

/** Reads an answer: a list of the time, and then of pairs, each of a place (from 1 on) and a text or null. */
function readAnswer(
  answer: string,
  placed: readonly Placed[],
  groups: readonly (readonly DriverCell[])[],
): DriverCommit & { readonly locked: readonly number[] } {
  const [now, ...pairs] = JSON.parse(answer) as [number, ...(number | string | null)[]];
  if (pairs.length === 0) return { now, lost: [], locked: [] };
  const lost = new Map<number, string[]>();
  const locked = new Set<number>();
  for (let at = 0; at < pairs.length; at += 2) {
    const { group, index } = placed[Number(pairs[at]) - 1]!;
    if (pairs[at + 1] === null) {
      locked.add(group);
      continue;
    }
    let held = lost.get(group);
    if (held === undefined) lost.set(group, held = groups[group]!.map(() => ""));
    held[index] = String(pairs[at + 1]);
  }
  return { now, lost: [...lost].map(([group, held]) => ({ group, held })), locked: [...locked] };
}

/** Sweeps the keys after those of the last sweep, so that its cost does not grow with the table. */
function sweepSql(table: string): string {
  return `
WITH now AS (SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms),
page AS (SELECT key, fresh_at FROM ${table} WHERE key > $1::text ORDER BY key LIMIT $2::text::integer),
swept AS (
  DELETE FROM ${table} WHERE key IN (
    SELECT key FROM ${table} WHERE fresh_at < (SELECT ms FROM now) AND key IN (
      SELECT key FROM page WHERE fresh_at < (SELECT ms FROM now)
    ) FOR UPDATE SKIP LOCKED
  ) RETURNING 1
)
SELECT (SELECT max(key) FROM page) AS last, (SELECT count(*)::text FROM page) AS seen,
  (SELECT count(*)::text FROM swept) AS swept`.trim();
}

function listSql(table: string): string {
  return `SELECT key, state FROM ${table} WHERE key > $1::text AND key < $2::text ` +
    "ORDER BY key LIMIT $3::text::integer";
}

function deleteSql(table: string): string {
  return `
WITH deleted AS (
  DELETE FROM ${table} WHERE key IN (
    SELECT key FROM ${table} WHERE key >= $1::text AND key < $2::text
    ORDER BY key LIMIT 1000 FOR UPDATE
  ) RETURNING 1
)
SELECT count(*)::text AS deleted FROM deleted`.trim();
}
