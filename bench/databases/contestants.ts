/*
 * The contestants on databases: the stores, rate-limiter-flexible's limiters, rate-limit-postgresql, and an
 * upsert by hand, which counts in fixed windows and does nothing else. On Postgres each is there with an
 * unlogged table, and with a logged one; all use pools of pg with ten connections, as is its default, but
 * rate-limit-postgresql, which makes its own. On SQLite all use WAL and synchronous=NORMAL.
 */

import pg from "pg";

import { type Algorithm, gcra, limiter } from "../../mod.ts";
import { postgresStore } from "../../stores/postgres/postgres_store.ts";
import { sqliteStore } from "../../stores/sqlite/sqlite_store.ts";
import { hasPeer, peer } from "../peers/peer.ts";
import type { Contestant } from "../redis/contestants.ts";

/** The limit for all of them: it refuses no call, or all but the first hundred. */
const GENEROUS = { limit: 100_000_000, period: 3_600_000 };
const STRICT = { limit: 100, period: 86_400_000 };
type Limit = typeof GENEROUS;

/** Makes a contestant, by the address of a server or the path of a file. */
type Make = (place: string, limit: Limit) => Promise<Contestant>;

/** Contestants by name, each with the package that it needs. */
const ALL: Readonly<Record<string, readonly [make: Make, needs?: string]>> = {
  "postgres: tidegate": [(url, limit) => tidegate(url, limit, false)],
  "postgres: rate-limiter-flexible": [
    (url, limit) => flexible(url, limit, false),
    "rate-limiter-flexible",
  ],
  "postgres: upsert by hand": [(url, limit) => upsert(url, limit, false)],
  "postgres: tidegate, logged": [(url, limit) => tidegate(url, limit, true)],
  "postgres: rate-limiter-flexible, logged": [
    (url, limit) => flexible(url, limit, true),
    "rate-limiter-flexible",
  ],
  "postgres: upsert by hand, logged": [(url, limit) => upsert(url, limit, true)],
  "postgres: rate-limit-postgresql, logged": [counted, "@acpr/rate-limit-postgresql"],
  "sqlite: tidegate, a turn": [(path, limit) => inFile(path, limit, "turn")],
  "sqlite: tidegate, a call": [(path, limit) => inFile(path, limit, "call")],
  "sqlite: rate-limiter-flexible": [flexibleInFile, "rate-limiter-flexible"],
  "sqlite: upsert by hand": [upsertInFile, "better-sqlite3"],
};

/** The names of all contestants on a database. */
export function contestantsOn(database: "postgres" | "sqlite"): readonly string[] {
  return Object.keys(ALL).filter((name) => name.startsWith(database));
}

/** Whether all that a contestant needs is installed. */
export function canTakePart(name: string): boolean {
  const [, needs] = ALL[name]!;
  return (needs === undefined || hasPeer(needs)) &&
    (!name.startsWith("sqlite: rate") || hasPeer("better-sqlite3"));
}

/** Connects a contestant; with `refusing`, its limit is soon used up. */
export async function connect(name: string, place: string, refusing: boolean): Promise<Contestant> {
  const [make] = ALL[name]!;
  return await make(place, refusing ? STRICT : GENEROUS);
}

const PATIENT = { deadline: 10_000, timeout: 30_000 };

async function tidegate(url: string, limit: Limit, logged: boolean): Promise<Contestant> {
  const pool = new pg.Pool({ connectionString: url });
  const store = postgresStore(pool, { ...PATIENT, table: logged ? "logged" : "unlogged", logged });
  await store.migrate();
  const api = limiter(gcra({ ...limit, burst: limit.limit }) as Algorithm, {
    store,
    prefix: String(limit.limit),
  });
  return {
    consume: (key) => api.consume(key).then(isAllowed),
    roundTrips: () => store.statistics().commits,
    async close() {
      await store.close();
      await pool.end();
    },
  };
}

async function flexible(url: string, limit: Limit, logged: boolean): Promise<Contestant> {
  const { RateLimiterPostgres } = peer("rate-limiter-flexible");
  const pool = new pg.Pool({ connectionString: url });
  const table = logged ? "flexible_logged" : "flexible";
  await makeTable(
    pool,
    table,
    logged,
    "(key varchar(255) PRIMARY KEY, points integer NOT NULL DEFAULT 0, expire bigint)",
  );
  const api = new RateLimiterPostgres({
    storeClient: pool,
    tableName: table,
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: String(limit.limit),
    points: limit.limit,
    duration: limit.period / 1_000,
  });
  return {
    consume: (key) => api.consume(key).then(() => true, isRefused),
    roundTrips: () => undefined,
    close: () => pool.end(),
  };
}

async function upsert(url: string, limit: Limit, logged: boolean): Promise<Contestant> {
  const pool = new pg.Pool({ connectionString: url });
  const table = logged ? "by_hand_logged" : "by_hand";
  await makeTable(pool, table, logged, "(key text PRIMARY KEY, count integer, until bigint)");
  const text = `INSERT INTO ${table} AS t VALUES ($1, 1, $2)
    ON CONFLICT (key) DO UPDATE SET
      count = CASE WHEN t.until <= $3 THEN 1 ELSE t.count + 1 END,
      until = CASE WHEN t.until <= $3 THEN $2 ELSE t.until END
    RETURNING count`;
  return {
    async consume(key) {
      const now = Date.now();
      const values = [limit.limit + key, now + limit.period, now];
      const { rows: [row] } = await pool.query({ name: "take", text, values });
      return row.count <= limit.limit;
    },
    roundTrips: () => undefined,
    close: () => pool.end(),
  };
}

async function makeTable(pool: pg.Pool, name: string, logged: boolean, columns: string) {
  await pool.query(
    `DO $$ BEGIN PERFORM pg_advisory_xact_lock(1);
    CREATE ${logged ? "" : "UNLOGGED "}TABLE IF NOT EXISTS ${name} ${columns}; END $$`,
  );
}

async function counted(url: string, limit: Limit): Promise<Contestant> {
  const { PostgresStore } = peer("@acpr/rate-limit-postgresql");
  const { hostname, port, username, pathname } = new URL(url);
  const config = {
    ...{ host: hostname, port: Number(port), user: username, password: "" },
    database: pathname.slice(1),
  };
  const store = new PostgresStore(config, String(limit.limit));
  store.init({ windowMs: limit.period });
  store.pool.on("error", () => {});
  // Its migrations run in the background; it prints what fails meanwhile.
  const { error } = console;
  console.error = () => {};
  const firstCall = async (tries: number): Promise<unknown> => {
    try {
      return await store.increment("first");
    } catch (error) {
      if (tries === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return firstCall(tries - 1);
    }
  };
  await firstCall(100);
  console.error = error;
  return {
    async consume(key) {
      const { totalHits } = await store.increment(key);
      return totalHits <= limit.limit;
    },
    roundTrips: () => undefined,
    close: () => store.pool.end(),
  };
}

function inFile(path: string, limit: Limit, batch: "turn" | "call"): Promise<Contestant> {
  const store = sqliteStore(path, { batch, timeout: 5_000 });
  const api = limiter(gcra({ ...limit, burst: limit.limit }) as Algorithm, {
    store,
    prefix: String(limit.limit),
  });
  return Promise.resolve({
    // Answered at once, or by a promise.
    consume: (key) => toPromise(api.consume(key)),
    roundTrips: () => store.statistics().batches,
    close: async () => await store.close(),
  });
}

function toPromise(
  decision: { readonly allowed: boolean } | Promise<{ readonly allowed: boolean }>,
): Promise<boolean> {
  return decision instanceof Promise ? decision.then(isAllowed) : Promise.resolve(decision.allowed);
}

/**
 * A database of better-sqlite3: its type is written here because the package may not be installed.
 */
interface BetterSqlite {
  pragma(text: string): unknown;
  exec(sql: string): unknown;
  prepare(sql: string): { get(values: Record<string, unknown>): Record<string, number> };
  close(): void;
}

function openFile(path: string): BetterSqlite {
  const Database = peer("better-sqlite3");
  const database: BetterSqlite = new Database(path, { timeout: 5_000 });
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = NORMAL");
  return database;
}

async function flexibleInFile(path: string, limit: Limit): Promise<Contestant> {
  const { RateLimiterSQLite } = peer("rate-limiter-flexible");
  const database = openFile(path);
  const api: { consume(key: string): Promise<unknown> } = await new Promise((resolve, reject) => {
    const made = new RateLimiterSQLite({
      storeClient: database,
      storeType: "better-sqlite3",
      tableName: "flexible",
      clearExpiredByTimeout: false,
      keyPrefix: String(limit.limit),
      points: limit.limit,
      duration: limit.period / 1_000,
    }, (error: Error | null) => error ? reject(error) : resolve(made));
  });
  return {
    consume: (key) => api.consume(key).then(() => true, isRefused),
    roundTrips: () => undefined,
    close: () => Promise.resolve(database.close()),
  };
}

function upsertInFile(path: string, limit: Limit): Promise<Contestant> {
  const database = openFile(path);
  database.exec(
    "CREATE TABLE IF NOT EXISTS by_hand (key TEXT PRIMARY KEY, count INTEGER, until INTEGER) WITHOUT ROWID",
  );
  const take = database.prepare(`INSERT INTO by_hand VALUES (@key, 1, @until)
    ON CONFLICT (key) DO UPDATE SET
      count = CASE WHEN until <= @now THEN 1 ELSE count + 1 END,
      until = CASE WHEN until <= @now THEN @until ELSE until END
    RETURNING count`);
  return Promise.resolve({
    consume(key) {
      const now = Date.now();
      const { count } = take.get({ key: limit.limit + key, until: now + limit.period, now });
      return Promise.resolve(count! <= limit.limit);
    },
    roundTrips: () => undefined,
    close: () => Promise.resolve(database.close()),
  });
}

function isAllowed({ allowed }: { readonly allowed: boolean }): boolean {
  return allowed;
}

/** A refusal, which is thrown; anything else is a fault. */
function isRefused(thrown: unknown): boolean {
  if (thrown instanceof Error) throw thrown;
  return false;
}
