import type { PostgresSql } from "../../../stores/postgres/postgres_store.ts";

/** A client of Bun, which has it built in. */
export type BunSql = PostgresSql & { close(): Promise<void> };

/** Makes a client of Bun, as it has to be made behind a pooler; only there. */
export function bunSql(url: string): BunSql {
  const { Bun: { SQL } } = globalThis as unknown as {
    Bun: { SQL: new (url: string, options: { prepare: boolean }) => BunSql };
  };
  return new SQL(url, { prepare: false });
}
