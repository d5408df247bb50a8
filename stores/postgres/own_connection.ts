/*
 * A connection of the store's own, with the settings of a `Client` of the package `pg`. On the client
 * itself, a batch could become part of a transaction of the application.
 */

import type { Statements } from "./postgres_driver.ts";

/** The members that we use of a client of the package `pg`. */
export interface PgClient {
  readonly connectionParameters: unknown;
  connect(): Promise<unknown>;
  query(statement: unknown): Promise<{ rows: unknown[] }>;
  end(): Promise<void>;
  on(event: "error" | "end", listener: () => void): unknown;
}

/** Runs statements on a connection that it makes when it needs one, and again after a loss. */
export function ownConnection(client: PgClient, mostWait: number): Statements {
  const Client = client.constructor as new (settings: unknown) => PgClient;
  let current: Promise<PgClient> | undefined;

  function connected(): Promise<PgClient> {
    if (current !== undefined) return current;
    const made = new Client(client.connectionParameters);
    const connecting = made.connect().then(() => made);
    const forget = () => {
      if (current === connecting) current = undefined;
    };
    made.on("error", forget);
    made.on("end", forget);
    connecting.catch(forget);
    return current = connecting;
  }

  function drop(connection: PgClient): void {
    current = undefined;
    connection.end().catch(() => {});
  }

  return {
    async run(text, values, name) {
      const connection = await connected();
      try {
        const statement = { name, text, values: [...values], query_timeout: mostWait };
        return (await connection.query(statement)).rows as readonly Record<string, unknown>[];
      } catch (error) {
        // An error without a code is not from the server: the connection is lost, or stuck.
        if ((error as { readonly code?: unknown }).code === undefined) drop(connection);
        throw error;
      }
    },
    most: 1,
    async close() {
      const connection = await current?.catch(() => undefined);
      current = undefined;
      await connection?.end().catch(() => {});
    },
  };
}
