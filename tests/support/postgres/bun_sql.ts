import type { PostgresSql } from "../../../stores/postgres/postgres_store.ts";

/** A client of Bun, which has it built in. */
export type BunSql = PostgresSql & { close(): Promise<void> };

/** Makes a client of Bun; only there. */
export function bunSql(url: string): BunSql {
  const { SQL } = (globalThis as unknown as { Bun: { SQL: new (url: string) => BunSql } }).Bun;
  return new SQL(url);
}
