/** A table or a function that is not as it should be. */
export interface SchemaFault {
  readonly name: string;
  /** The statement that causes it, and the statement that mends it. */
  readonly statements: readonly [broken: string, mended: string];
  /** The message of the error. */
  readonly message: RegExp;
  /** Whether `migrate` mends it, too. */
  readonly migrates?: boolean;
}

const COMMIT = "tidegate_commit_2(text[], text[], text[], bigint[], integer[], boolean)";
const VERSION =
  /must have the table "tidegate" and the function "tidegate_commit_2" of this version in its search_path/;

/** Faults of a store's table and function. */
export const SCHEMA_FAULTS: readonly SchemaFault[] = [
  {
    name: "a table that is not there",
    statements: [
      "ALTER TABLE tidegate RENAME TO hidden",
      "ALTER TABLE hidden RENAME TO tidegate",
    ],
    message: VERSION,
  },
  {
    name: "a table without a column",
    statements: [
      "ALTER TABLE tidegate RENAME state TO value",
      "ALTER TABLE tidegate RENAME value TO state",
    ],
    message: VERSION,
  },
  {
    name: "a table with a column of another type",
    statements: [
      "ALTER TABLE tidegate ALTER state TYPE bytea USING convert_to(state, 'UTF8')",
      "ALTER TABLE tidegate ALTER state TYPE text USING convert_from(state, 'UTF8')",
    ],
    message: VERSION,
  },
  {
    name: "a table with a further column that must be given",
    statements: [
      "ALTER TABLE tidegate ADD other integer; UPDATE tidegate SET other = 1; ALTER TABLE tidegate ALTER other SET NOT NULL",
      "ALTER TABLE tidegate DROP other",
    ],
    message: VERSION,
  },
  {
    name: "a table that lets a key stand twice",
    statements: [
      "ALTER TABLE tidegate DROP CONSTRAINT tidegate_pkey",
      "ALTER TABLE tidegate ADD PRIMARY KEY (key)",
    ],
    message: VERSION,
  },
  {
    name: "a function that is not there",
    statements: [`ALTER FUNCTION ${COMMIT} RENAME TO hidden`, `DROP FUNCTION hidden`],
    message: VERSION,
    migrates: true,
  },
  {
    name: "a function that takes something else",
    statements: [
      `DROP FUNCTION ${COMMIT}; CREATE FUNCTION tidegate_commit_2(text) RETURNS text LANGUAGE sql AS 'SELECT $1'`,
      "DROP FUNCTION tidegate_commit_2(text)",
    ],
    message: VERSION,
    migrates: true,
  },
  {
    name: "a function that answers something else",
    statements: [
      `DROP FUNCTION ${COMMIT}; CREATE FUNCTION ${COMMIT} RETURNS text LANGUAGE sql AS $$ SELECT 'committed' $$`,
      "SELECT 1",
    ],
    message: VERSION,
    migrates: true,
  },
];
