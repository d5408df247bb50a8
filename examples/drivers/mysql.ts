/*
 * A driver for MySQL 8.0.1 and MariaDB 10.6 or later, by the package mysql2. It locks all keys of a
 * batch in the order of their bytes, compares and writes them in one transaction at READ COMMITTED. At
 * REPEATABLE READ the first calls on different keys would lock gaps between rows, and deadlock.
 *
 *   const pool = createPool({ uri: "mysql://...", multipleStatements: true });    mysql2/promise
 *   const store = compareAndSetStore(mysql(pool));
 *
 * Statements share round trips. Calls that change nothing take one, other calls take two, and new keys
 * take a third. Texts are sent as hexadecimal digits, so that no key can end a statement, whatever the
 * `sql_mode`.
 */
import { Buffer } from "node:buffer";
import { type CompareAndSet, type DriverCell, DriverError } from "../../stores/stores.ts";

/** The part of a pool of mysql2/promise that the driver needs. */
export interface MysqlPool {
  /** Lends a connection. */
  getConnection(): Promise<MysqlConnection>;
}

interface MysqlConnection {
  query(sql: string): Promise<[unknown, ...unknown[]]>;
  release(): void;
  destroy(): void;
}

/** The table of the driver. */
export const MYSQL_TABLE = `
CREATE TABLE IF NOT EXISTS tidegate (
  name varbinary(2000) NOT NULL PRIMARY KEY,
  state mediumblob NOT NULL,
  fresh_at bigint NOT NULL,
  KEY fresh_at (fresh_at)
) ENGINE = InnoDB`;

type Row = Readonly<Record<string, unknown>>;
type Groups = readonly (readonly DriverCell[])[];

const BEGIN = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION";
/** The server's own time, which no time zone sets back. */
const NOW = "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000 AS now";
/**
 * Milliseconds for which an expired key stays, because other processes may be about to write it.
 */
const SWEPT_AFTER = 10_000;

/** The driver of a pool with `multipleStatements`. */
export function mysql(pool: MysqlPool): CompareAndSet {
  /** Lends a connection to some work. It has no transaction afterwards. */
  async function withConnection<Answer>(
    work: (
      run: (...statements: readonly string[]) => Promise<readonly (readonly Row[])[]>,
    ) => Promise<Answer>,
    signal?: AbortSignal,
  ): Promise<Answer> {
    const connection = await pool.getConnection().catch((cause) => {
      throw new DriverError(`There is no connection: ${textOf(cause)}`, { applied: "no", cause });
    });
    const end = () => connection.destroy();
    if (signal?.aborted) end();
    signal?.addEventListener("abort", end);
    try {
      const answer = await work(async (...statements) => {
        const [results] = await connection.query(statements.join("; "));
        return (statements.length === 1 ? [results] : results) as readonly (readonly Row[])[];
      });
      connection.release();
      return answer;
    } catch (error) {
      // Closing the connection rolls the transaction back.
      connection.destroy();
      throw failureOf(error);
    } finally {
      signal?.removeEventListener("abort", end);
    }
  }

  return {
    name: "MySQL",
    commit: (groups, signal) =>
      withConnection(async (run) => {
        const cells = groups.flat();
        if (cells.every(({ held, next }) => held === next)) {
          const [rows = [], time] = cells.length === 0
            ? [[], ...await run(NOW)]
            : await run(select(cells), NOW);
          return { now: timeOf(time), lost: compare(groups, textsOf(rows)).lost };
        }
        while (true) {
          // An absent row cannot be locked.
          const absent = groups.filter(writes).flat().filter(({ held }) => held === "");
          if (absent.length > 0) await run(insert("INSERT IGNORE", absent, () => ""));
          const [, , rows = []] = await run(...BEGIN.split("; "), `${select(cells)} FOR UPDATE`);
          const texts = textsOf(rows);
          const { lost, kept } = compare(groups, texts);
          const written = kept.filter(writes);
          if (written.flat().some(({ key }) => !texts.has(key))) {
            // Somebody else has swept the row meanwhile.
            await run("ROLLBACK");
            continue;
          }
          const changed = written.flat().filter(({ held, next }) => held !== next);
          const update = changed.length === 0 ? [] : [
            `${insert("INSERT", changed, ({ next }) => next)} ON DUPLICATE KEY UPDATE ${VALUES}`,
          ];
          return { now: timeOf((await run(...update, "COMMIT", NOW)).at(-1)), lost };
        }
      }, signal),
    sweep: (most) =>
      withConnection(async (run) => {
        const [time = []] = await run(NOW);
        const over = `fresh_at < ${timeOf(time) - SWEPT_AFTER}`;
        // Read without a lock, and then lock in the order of keys, like calls, to avoid deadlocks.
        const [rows = []] = await run(
          `SELECT name FROM tidegate WHERE ${over} ORDER BY fresh_at LIMIT ${most}`,
        );
        if (rows.length === 0) return 0;
        const names = rows.map(({ name }) => hex(String(name))).sort();
        await run(`DELETE FROM tidegate WHERE name IN (${names}) AND ${over}`);
        return rows.length;
      }),
    deletePrefix: (beginning) =>
      withConnection(async (run) => {
        const first = hex(beginning);
        // No byte of UTF-8 is 255.
        await run(`DELETE FROM tidegate WHERE name >= ${first} AND name < CONCAT(${first}, X'FF')`);
      }),
  };
}

const VALUES = "state = VALUES(state), fresh_at = VALUES(fresh_at)";

function select(cells: readonly DriverCell[]): string {
  const names = cells.map(({ key }) => hex(key)).sort();
  return `SELECT name, state FROM tidegate WHERE name IN (${names}) ORDER BY name`;
}

function insert(
  verb: string,
  cells: readonly DriverCell[],
  textOf: (cell: DriverCell) => string,
): string {
  const rows = cells.map((cell) =>
    `(${hex(cell.key)}, ${hex(textOf(cell))}, ${Math.ceil(cell.freshAt)})`
  );
  return `${verb} INTO tidegate VALUES ${rows.sort()}`;
}

/** A literal of bytes, from which no text can break out. */
function hex(text: string): string {
  return `X'${Buffer.from(text).toString("hex")}'`;
}

function textsOf(rows: readonly Row[]): ReadonlyMap<string, string> {
  return new Map(rows.map(({ name, state }) => [String(name), String(state)]));
}

function timeOf(rows: readonly Row[] | undefined): number {
  return Number(rows?.[0]?.["now"]);
}

function writes(group: readonly DriverCell[]): boolean {
  return group.some(({ held, next }) => held !== next);
}

/** Which groups are lost, with the texts of their keys, and which are as expected. */
function compare(groups: Groups, texts: ReadonlyMap<string, string>) {
  const lost: { readonly group: number; readonly held: readonly string[] }[] = [];
  const kept = groups.filter((cells, group) => {
    const held = cells.map(({ key }) => texts.get(key) ?? "");
    if (cells.every((cell, index) => cell.held === held[index])) return true;
    lost.push({ group, held });
    return false;
  });
  return { lost, kept };
}

/** Where the server replied an error the transaction is rolled back; otherwise nobody knows. */
function failureOf(error: unknown): unknown {
  if (error instanceof DriverError) return error;
  const { sqlState = "" } = Object(error) as { readonly sqlState?: string };
  // Without a state, or with one of the class of connections, the server may have committed.
  if (!/^(?!08)\w{5}$/.test(sqlState)) return error;
  // A deadlock, or a serialization failure of a cluster.
  const retry = sqlState.startsWith("40");
  return new DriverError(textOf(error), { applied: "no", scope: "call", retry, cause: error });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
