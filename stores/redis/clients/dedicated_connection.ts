/*
 * Turns a client of the store's own into a connection that never reconnects. Any error that the client
 * throws, wherever it does, becomes a rejection. It neither ends the process nor leaves a call
 * waiting.
 */

import { withTimeout } from "../../../core/with_timeout.ts";
import { patientTimer } from "../../optimistic/patient_timer.ts";
import { asError } from "../../as_error.ts";
import { isErrorReply } from "../failures/reply_failure.ts";
import type { Command, Connection } from "./connection.ts";

/** A client that the store has made. */
export interface DedicatedClient {
  readonly isReady: boolean;
  /** Whether it speaks TLS, if that is known. */
  readonly usesTls?: boolean;
  on(event: "error" | "connect", listener: (error?: unknown) => void): unknown;
  connect(): Promise<unknown>;
  sendCommand(command: Command): Promise<unknown>;
  destroy(): void;
}

/** A client that is being connected. */
interface Attempt {
  client: DedicatedClient | undefined;
  /** Whether its time is up. */
  late: boolean;
  /** Whether its socket was opened. */
  isOpen: boolean;
  /** The last error that the client reported. */
  error: unknown;
}

/**
 * Waits for a client and connects it, all in at most `timeout` milliseconds.
 *
 * Destroying a client does nothing to a socket that is still being opened (node-redis 6.3.1), and
 * such a socket would stay open. So a late client is left to its `connectTimeout`, and destroyed if
 * it opens before that.
 */
export async function connect(
  make: () => Promise<DedicatedClient>,
  timeout: number,
): Promise<Connection> {
  const attempt: Attempt = {
    client: undefined,
    late: false,
    isOpen: false,
    error: undefined,
  };
  const connecting = connectClient(attempt, make);
  try {
    const late = (): never => {
      attempt.late = true;
      throw lateError(attempt, timeout);
    };
    return connectionOf(await withTimeout(connecting, timeout, late, patientTimer));
  } catch (error) {
    if (attempt.isOpen) end(attempt);
    else connecting.catch(() => end(attempt));
    throw attempt.late ? error : tellingError(error, attempt.error);
  }
}

/** The error of an attempt that took too long. */
function lateError({ client, isOpen, error }: Attempt, timeout: number): Error {
  const message = `No connection within ${timeout} ms`;
  if (error !== undefined) {
    const cause = asError(error);
    return new Error(`${message}: ${cause.message}`, { cause });
  }
  if (isOpen) return new Error(`${message}: the server did not reply to the client's greeting`);
  return new Error(
    speaksTls(client) ? `${message}: the client speaks TLS, and the server may not` : message,
  );
}

function speaksTls(client: DedicatedClient | undefined): boolean {
  try {
    const { usesTls, options } = client as DedicatedClient & {
      readonly options?: { readonly socket?: { readonly tls?: unknown } };
    };
    return usesTls ?? Boolean(options?.socket?.tls);
  } catch {
    return false;
  }
}

/**
 * Chooses the error that says more: the thrown one, or the one reported before. ioredis and iovalkey
 * only throw that the connection is closed, and report the reason as an event.
 */
function tellingError(thrown: unknown, reported: unknown): unknown {
  const { message } = asError(thrown);
  return reported !== undefined && /^Connection is closed/.test(message) ? reported : thrown;
}

async function connectClient(
  attempt: Attempt,
  make: () => Promise<DedicatedClient>,
): Promise<DedicatedClient> {
  const client = attempt.client = await make();
  const onConnect = () => {
    attempt.isOpen = true;
    if (attempt.late) end(attempt);
  };
  // The store notices a lost connection when it sends.
  const onError = (error: unknown) => void (attempt.error = error ?? attempt.error);
  await Promise.all([client.on("error", onError), client.on("connect", onConnect)]);
  if (attempt.late) throw new Error("The connection was established too late");
  await client.connect();
  if (attempt.late) end(attempt);
  return client;
}

function end({ client }: Attempt): void {
  if (client !== undefined) void destroy(client);
}

function connectionOf(client: DedicatedClient): Connection {
  return {
    get open() {
      return isReady(client);
    },
    send: (commands) => sendAll(client, commands),
    destroy: () => void destroy(client),
  };
}

function isReady(client: DedicatedClient): boolean {
  try {
    return client.isReady;
  } catch {
    return false;
  }
}

/** Ends a connection. Before 6.3 node-redis throws if it has ended by itself. */
export async function destroy(
  client: { destroy(): unknown } | { disconnect(): unknown },
): Promise<void> {
  try {
    // Version 4 of node-redis has another name for `destroy`.
    await ("destroy" in client ? client.destroy() : client.disconnect());
  } catch {
    // There is nothing to end.
  }
}

/** Sends commands. A reply that is an error of the server counts as a reply. */
function sendAll(
  client: DedicatedClient,
  commands: readonly Command[],
): Promise<readonly unknown[]> {
  return Promise.all(commands.map(async (command) => {
    try {
      return await client.sendCommand(command);
    } catch (thrown) {
      const error = asError(thrown);
      if (isErrorReply(error)) return error;
      throw error;
    }
  }));
}
