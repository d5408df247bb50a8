/*
 * Connections by node-redis (the package `redis`, 5.1 or later): duplicates of the client that was
 * given, with these options of their own.
 *
 * | option | why |
 * |---|---|
 * | `reconnectStrategy: false` | a connection lives once: see connection.ts |
 * | `disableOfflineQueue` | nothing is kept for later |
 * | `commandOptions: { timeout: 0 }` | its timeout ends when a command is sent, and costs a signal each |
 * | no `socketTimeout` | writing puts it off, and an idle connection would be closed by it |
 * | `maintNotifications: "disabled"` | they put a new socket under a live client, where nothing is watched |
 * | no client-side cache | every value read is about to change |
 */

import { formatValue } from "../../../core/options/checks.ts";
import type { Command, Connection, Dial } from "./connection.ts";
import { isErrorReply } from "../failures/batch_failure.ts";

/** A node-redis client, as far as the store needs one; `createClient` returns it. */
export interface NodeRedisClient {
  /** Its options. */
  readonly options?: unknown;
  /** Makes another client with the same options, but for those given. */
  duplicate(overrides?: never): unknown;
  /** Sends one command. */
  sendCommand(command: never): unknown;
  /** Ends its connection at once. */
  destroy(): unknown;
}

/** A node-redis pool, connected; `createClientPool` returns it. */
export interface NodeRedisPool {
  /** How many clients it has. */
  readonly totalClients: number;
  /** Lends a client to a function. */
  execute(use: never): unknown;
}

/** What a duplicate can do. */
export interface OwnClient {
  readonly isReady: boolean;
  on(event: "error" | "connect", listener: () => void): unknown;
  connect(): Promise<unknown>;
  sendCommand(command: Command): Promise<unknown>;
  destroy(): void;
}

/** A client that can be duplicated. */
export interface Original {
  readonly options?: { readonly socket?: object };
  duplicate(overrides: object): OwnClient;
}

/** What lends a client. */
interface Lender {
  execute(use: (client: Original) => Promise<OwnClient>): Promise<OwnClient>;
}

/** Dials with the options of a client. */
export function dialClient(client: NodeRedisClient): Dial {
  const original = client as unknown as Original;
  return (patience) => connect(() => Promise.resolve(copyOf(original, patience)), patience);
}

/** Dials with the options of a pool's clients. */
export function dialPool(pool: NodeRedisPool): Dial {
  const lender = pool as unknown as Lender;
  return (patience) =>
    connect(
      () => lender.execute((client) => Promise.resolve(copyOf(client, patience))),
      patience,
    );
}

/** A client with the same options, but for those of the table above; not yet connected. */
export function copyOf(client: Original, patience: number): OwnClient {
  return client.duplicate(ownOptions(client.options?.socket, patience));
}

/** The options of the table above. */
export function ownOptions(socket: object | undefined, patience: number): object {
  return {
    socket: {
      ...socket,
      reconnectStrategy: false,
      connectTimeout: patience,
      socketTimeout: undefined,
    },
    commandOptions: { timeout: 0 },
    commandsQueueMaxLength: undefined,
    disableOfflineQueue: true,
    maintNotifications: "disabled",
    clientSideCache: undefined,
    emitInvalidate: false,
    pingInterval: undefined,
    readonly: false,
  };
}

/**
 * Connects a client once it is there, all in at most so many milliseconds.
 *
 * To destroy a client does nothing to a socket that is still being opened (node-redis 6.3.1), and
 * such a socket goes on to live for ever. So one that is late is left to its `connectTimeout`, and
 * destroyed if it opens before that.
 */
export async function connect(
  copy: () => Promise<OwnClient>,
  patience: number,
): Promise<Connection> {
  let client: OwnClient | undefined;
  let late = false;
  let isOpen = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      late = true;
      reject(new Error(`No connection within ${patience} ms`));
    }, patience);
  });

  async function dial(): Promise<OwnClient> {
    client = await copy();
    // The store learns of a loss by what it sends.
    client.on("error", () => {});
    client.on("connect", () => {
      isOpen = true;
      if (late) end();
    });
    if (late) throw new Error("The connection came too late");
    await client.connect();
    return client;
  }

  function end(): void {
    if (client !== undefined) void destroy(client);
  }

  const dialling = dial();
  try {
    return connectionOf(await Promise.race([dialling, tooLate]));
  } catch (error) {
    if (isOpen) end();
    else dialling.catch(end);
    throw asError(error);
  } finally {
    clearTimeout(timer);
  }
}

function connectionOf(client: OwnClient): Connection {
  return {
    get open() {
      return isReady(client);
    },
    send: (commands) => sendAll(client, commands),
    destroy: () => void destroy(client),
  };
}

function isReady(client: OwnClient): boolean {
  try {
    return client.isReady;
  } catch {
    return false;
  }
}

/** Ends a connection. Before 6.3 node-redis throws if it has ended by itself. */
export async function destroy(client: { destroy(): unknown }): Promise<void> {
  try {
    await client.destroy();
  } catch {
    // There is nothing to end.
  }
}

function sendAll(client: OwnClient, commands: readonly Command[]): Promise<readonly unknown[]> {
  return new Promise((resolve, reject) => {
    const replies: unknown[] = new Array(commands.length);
    let left = commands.length;
    if (left === 0) resolve(replies);

    function take(place: number, reply: unknown): void {
      replies[place] = reply;
      if (--left === 0) resolve(replies);
    }

    function fail(place: number, thrown: unknown): void {
      const error = asError(thrown);
      if (isErrorReply(error)) take(place, error);
      else reject(error);
    }

    commands.forEach((command, place) => {
      try {
        client.sendCommand(command).then(
          (reply) => take(place, reply),
          (thrown) => fail(place, thrown),
        );
      } catch (thrown) {
        fail(place, thrown);
      }
    });
  });
}

/** What a client threw, which may be anything, as an error. */
function asError(thrown: unknown): Error {
  const { message } = (thrown ?? {}) as { readonly message?: unknown };
  return typeof message === "string"
    ? thrown as Error
    : new Error(`The client threw ${formatValue(thrown)}`);
}
