/*
 * The table of a store, and the function that commits a batch in it.
 *
 * The function visits keys in the order of their bytes, which callers have put them in, so that no two
 * batches wait for each other. At READ COMMITTED each statement in it sees what was committed before that
 * statement: one that has waited for a row compares the new text. A key that stands alone needs one
 * statement. Keys of one group are locked first, all of them, and written in a second pass if none
 * differs; a key that is absent gets an empty text meanwhile, because an absent row cannot be locked. A
 * group in which nothing is to be written is read by one statement, without locks: refusals write nothing,
 * not even to the log.
 *
 * `fresh_at` has no index: an update would have to change it, and could no longer stay on its page.
 */

import { checkText, type OptionCheck, rangeError, typeError } from "../../core/options/checks.ts";

/** Where the table is, and how it is kept. */
export interface PostgresSchemaOptions {
  /** The table: a letter or `_`, then letters, digits and `_`, at most 48; default `"tidegate"`. */
  readonly table?: string | undefined;
  /** Its schema, named likewise; without it the first one of the `search_path` that has the table. */
  readonly schema?: string | undefined;
  /**
   * Whether the table is written to Postgres' log. Without it (default) it is `UNLOGGED`: several times
   * faster, but empty after a crash of Postgres and on a standby that takes over, so that limits begin
   * anew. A table that is there is changed only where this option is given.
   */
  readonly logged?: boolean | undefined;
}

/** Quoted names of what a store uses. */
export interface PostgresNames {
  readonly table: string;
  readonly commit: string;
}

const NAME_REGEXP = /^[A-Za-z_][A-Za-z0-9_]{0,47}$/;

/** Requires a name of a table or a schema. */
export const checkName: OptionCheck = (action, option, value) => {
  checkText(action, option, value as string);
  if (NAME_REGEXP.test(value as string)) return;
  const rule = "must be a letter or _, then at most 47 letters, digits and _";
  throw rangeError(action, `${option} ${rule}`, value);
};

/** The names of what a store uses; a later release that needs another function gives it another number. */
export function postgresNames(
  { table = "tidegate", schema }: PostgresSchemaOptions,
): PostgresNames {
  const before = schema === undefined ? "" : `"${schema}".`;
  return { table: `${before}"${table}"`, commit: `${before}"${table}_commit_1"` };
}

/**
 * The SQL that makes the table of a store and its function, for your own migrations; `store.migrate()`
 * runs the same. It may run more than once, and beside itself.
 *
 * @example
 * ```ts
 * import { postgresSchema } from "tidegate/postgres";
 * import assert from "node:assert/strict";
 *
 * assert.match(postgresSchema({ table: "limits" }), /CREATE UNLOGGED TABLE IF NOT EXISTS "limits"/);
 * ```
 */
export function postgresSchema(options: PostgresSchemaOptions = {}): string {
  checkSchemaOptions("write the schema", options);
  const { table, commit } = postgresNames(options);
  const kind = options.logged === true ? "TABLE" : "UNLOGGED TABLE";
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
  keys text[], helds text[], nexts text[], fresh bigint[], ties integer[]
) RETURNS text LANGUAGE plpgsql VOLATILE
SET lock_timeout = '50ms' SET enable_seqscan = off AS $commit$
${functionBody(table)}
$commit$;
END
$migrate$`.trim();
}

/** Changes how a table that is there is kept, where that was asked for. */
function keptAs(table: string, logged: boolean | undefined): string {
  if (logged === undefined) return "";
  const [persistence, kind] = logged ? ["p", "LOGGED"] : ["u", "UNLOGGED"];
  return `
IF (SELECT relpersistence FROM pg_class WHERE oid = '${table}'::regclass) <> '${persistence}' THEN
  ALTER TABLE ${table} SET ${kind};
END IF;
`.trimStart();
}

/** Requires names, and a choice. */
export function checkSchemaOptions(
  action: string,
  { table, schema, logged }: PostgresSchemaOptions,
): void {
  if (table !== undefined) checkName(action, "table", table);
  if (schema !== undefined) checkName(action, "schema", schema);
  if (logged === undefined || typeof logged === "boolean") return;
  throw typeError(action, "logged must be a boolean", logged);
}

/**
 * The body: `ties` is null, or holds 0 for a key alone, the number of its group, or less than 0 where
 * nothing of the group is written. The answer is a list in JSON: the time, and in pairs the places of keys
 * that were not as expected, from 1 on, and what they hold. Where `nexts` is null, the places of keys that
 * others keep locked.
 */
function functionBody(table: string): string {
  return `
DECLARE
  i integer; k text; h text; n text; was text; tie integer; answer text := '';
  found_texts text[]; lost integer[] := '{}'; same boolean;
BEGIN
IF nexts IS NULL THEN
  FOR i IN 1 .. cardinality(keys) LOOP
    PERFORM FROM ${table} WHERE key = keys[i] FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND AND EXISTS (SELECT FROM ${table} WHERE key = keys[i]) THEN
      answer := answer || ',' || i;
    END IF;
  END LOOP;
  RETURN '[' || floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint || answer || ']';
END IF;
FOR i IN 1 .. cardinality(keys) LOOP
  k := keys[i]; h := helds[i]; n := nexts[i];
  tie := CASE WHEN ties IS NULL THEN 0 ELSE ties[i] END;
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
    IF tie = 0 THEN CONTINUE; END IF;
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
