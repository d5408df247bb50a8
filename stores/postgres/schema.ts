/*
 * The table of a store, and the function that commits a batch in it.
 *
 * The function visits keys in the order of their bytes, so that no two batches wait for each other.
 * Callers pass the keys in this order. At READ COMMITTED each statement of the function sees all commits
 * before it, so a statement that has waited for a row compares the new text.
 *
 * A key without a group needs one statement. The keys of a group are all locked first. A second pass
 * writes them if every text is as expected. An absent key gets an empty text meanwhile, because an absent
 * row cannot be locked. A group without writes is read by one statement, without locks: refusals write
 * nothing, not even to the log.
 *
 * `fresh_at` has no index, because every update would change the index, and a row could no longer stay
 * on its page.
 */

import {
  checkBoolean,
  checkOptions,
  checkText,
  type OptionNames,
  rangeError,
} from "../../core/options/checks.ts";

/** The name of the table, and how Postgres keeps it. */
export interface PostgresSchemaOptions {
  /** The table: a letter or `_`, then letters, digits and `_`, at most 48; default `"tidegate"`. */
  readonly table?: string | undefined;
  /** Its schema, by the same rules; by default the first of the `search_path` that has the table. */
  readonly schema?: string | undefined;
  /**
   * Whether Postgres writes the table to its log; default `true`. An `UNLOGGED` table is several times
   * faster, but empty after a crash of Postgres, and on a standby that takes over, so that limits begin
   * anew. `migrate` changes an existing table only if this option is given.
   */
  readonly logged?: boolean | undefined;
}

/** The quoted names of a store's table and function. */
export interface PostgresNames {
  readonly table: string;
  readonly commit: string;
  /** Where Postgres looks for both, for errors. */
  readonly place: string;
}

/**
 * Milliseconds for which a batch waits for a lock. Others of this store keep a row locked while they
 * commit, and no longer.
 */
export const LOCK_TIMEOUT = 20;

const NAME_REGEXP = /^[A-Za-z_][A-Za-z0-9_]{0,47}$/;

/** The checks of the options. */
export const SCHEMA_CHECKS: OptionNames<PostgresSchemaOptions> = {
  table: checkName,
  schema: checkName,
  logged: checkBoolean,
};

/** Requires a name of a table or a schema. */
function checkName(action: string, option: string, value: unknown): void {
  checkText(action, option, value);
  if (NAME_REGEXP.test(value)) return;
  const rule = "must be a letter or _, then at most 47 letters, digits and _";
  throw rangeError(action, `${option} ${rule}`, value);
}

/** The names of a store's table and function. A release with another function gives it a new number. */
export function postgresNames(
  { table = "tidegate", schema }: PostgresSchemaOptions,
): PostgresNames {
  const before = schema === undefined ? "" : `"${schema}".`;
  return {
    table: `${before}"${table}"`,
    commit: `${before}"${table}_commit_2"`,
    place: schema === undefined ? "its search_path" : `the schema "${schema}"`,
  };
}

/**
 * The SQL that makes the table of a store and its function, for your own migrations. `store.migrate()`
 * runs the same. It may run any number of times, and in several processes at once.
 *
 * @example
 * ```ts
 * import { postgresSchema } from "tidegate/postgres";
 * import assert from "node:assert/strict";
 *
 * assert.match(postgresSchema({ table: "limits" }), /CREATE TABLE IF NOT EXISTS "limits"/);
 * ```
 */
export function postgresSchema(options: PostgresSchemaOptions = {}): string {
  checkOptions("write the schema", options, SCHEMA_CHECKS);
  const { table, commit } = postgresNames(options);
  const kind = options.logged === false ? "UNLOGGED TABLE" : "TABLE";
  return `
DO $migrate$
BEGIN
PERFORM pg_advisory_xact_lock(7234017283807667301);
CREATE ${kind} IF NOT EXISTS ${table} (
  key text COLLATE "C" PRIMARY KEY,
  state text NOT NULL,
  fresh_at bigint NOT NULL
) WITH (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000
);
-- Fails for another table of this name.
INSERT INTO ${table} (key, state, fresh_at) SELECT ''::text, ''::text, 0::bigint WHERE false
  ON CONFLICT (key) DO NOTHING;
${keptAs(table, options.logged)}CREATE OR REPLACE FUNCTION ${commit}(
  keys text[], helds text[], nexts text[], fresh bigint[], ties integer[], wary boolean
) RETURNS text LANGUAGE plpgsql VOLATILE
SET lock_timeout = '${LOCK_TIMEOUT}ms' SET enable_seqscan = off AS $commit$
${functionBody(table)}
$commit$;
END
$migrate$`.trim();
}

/** Changes how an existing table is kept, if the option asks for that. */
function keptAs(table: string, logged: boolean | undefined): string {
  if (logged === undefined) return "";
  const [persistence, kind] = logged ? ["p", "LOGGED"] : ["u", "UNLOGGED"];
  return `
IF (SELECT relpersistence FROM pg_class WHERE oid = '${table}'::regclass) <> '${persistence}' THEN
  ALTER TABLE ${table} SET ${kind};
END IF;
`.trimStart();
}

/**
 * The body of the function. `ties` is null if no key has a group. Otherwise it holds, for each key, 0 if
 * the key has no group, the number of its group, or a negative number if the group has no writes.
 *
 * The answer is a list in JSON: the time, and then pairs for the keys whose text was not as expected,
 * each of the key's place (from 1 on) and its text.
 *
 * A wary batch does not wait for rows that others keep locked. The pair of such a key has null in place
 * of a text, and nothing of its group is written.
 */
function functionBody(table: string): string {
  return `
DECLARE
  i integer; k text; h text; n text; was text; tie integer; answer text := '';
  found_texts text[]; lost integer[] := '{}'; busy integer[] := '{}'; same boolean;
BEGIN
FOR i IN 1 .. cardinality(keys) LOOP
  k := keys[i]; h := helds[i]; n := nexts[i];
  tie := CASE WHEN ties IS NULL THEN 0 ELSE ties[i] END;
  IF wary AND (tie > 0 OR tie = 0 AND n <> h) THEN
    PERFORM FROM ${table} WHERE key = k FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND AND EXISTS (SELECT FROM ${table} WHERE key = k) THEN
      answer := answer || ',' || i || ',null';
      busy := busy || tie;
      CONTINUE;
    END IF;
  END IF;
  IF tie > 0 THEN
    SELECT state INTO was FROM ${table} WHERE key = k FOR NO KEY UPDATE;
    IF NOT FOUND THEN
      INSERT INTO ${table} (key, state, fresh_at) VALUES (k, '', 0) ON CONFLICT (key) DO NOTHING;
      SELECT state INTO was FROM ${table} WHERE key = k FOR NO KEY UPDATE;
    END IF;
    found_texts[i] := coalesce(was, '');
    IF was IS DISTINCT FROM h THEN lost := lost || tie; END IF;
  ELSIF tie = 0 THEN
    IF n = h THEN
      SELECT state INTO was FROM ${table} WHERE key = k;
      same := coalesce(was, '') = h;
    ELSE
      IF h = '' THEN
        INSERT INTO ${table} (key, state, fresh_at) VALUES (k, n, fresh[i])
          ON CONFLICT (key) DO NOTHING;
        IF NOT FOUND THEN
          UPDATE ${table} SET state = n, fresh_at = fresh[i] WHERE key = k AND state = '';
        END IF;
      ELSIF n = '' THEN
        DELETE FROM ${table} WHERE key = k AND state = h;
      ELSE
        UPDATE ${table} SET state = n, fresh_at = fresh[i] WHERE key = k AND state = h;
      END IF;
      same := FOUND;
      IF NOT same THEN SELECT state INTO was FROM ${table} WHERE key = k; END IF;
    END IF;
    IF NOT same THEN
      answer := answer || ',' || i || ',' || to_json(coalesce(was, ''));
    END IF;
  END IF;
END LOOP;
IF ties IS NOT NULL THEN
  IF -1 >= ANY (ties) THEN
    FOR i, k, was, tie IN
      SELECT o.place, o.key,
        coalesce((SELECT t.state FROM ${table} t WHERE t.key = o.key), ''), o.tie
      FROM unnest(keys, ties) WITH ORDINALITY AS o (key, tie, place) WHERE o.tie < 0
    LOOP
      found_texts[i] := was;
      IF was <> helds[i] THEN lost := lost || tie; END IF;
    END LOOP;
  END IF;
  FOR i IN 1 .. cardinality(keys) LOOP
    tie := ties[i]; n := nexts[i];
    IF tie = 0 OR tie = ANY (busy) THEN CONTINUE; END IF;
    IF tie = ANY (lost) THEN
      answer := answer || ',' || i || ',' || to_json(found_texts[i]);
    ELSIF n <> helds[i] THEN
      IF n = '' THEN DELETE FROM ${table} WHERE key = keys[i];
      ELSE UPDATE ${table} SET state = n, fresh_at = fresh[i] WHERE key = keys[i];
      END IF;
    END IF;
  END LOOP;
END IF;
RETURN '[' || floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint || answer || ']';
END
`.trim();
}
