/*
 * Calls between threads: each end of a port has functions by name, and calls the functions of the
 * other end.
 */

import { errorText } from "../log.ts";

/** One end of a port: the `Worker` in the thread that owns it, or `parentPort` in the worker. */
interface Port {
  postMessage(message: unknown): void;
  on(event: "message", listener: (message: Message) => void): unknown;
  on(event: "exit", listener: () => void): unknown;
}

type Message =
  | { readonly id: number; readonly name: string; readonly args: readonly unknown[] }
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string };

type Functions<Names> = { readonly [Name in keyof Names]: (...args: never[]) => unknown };

/**
 * Calls a function of the other end by its name. Rejects with the message of the error that the
 * function throws, or if the other end is a worker that ends before it has answered.
 */
export type PortCall<Other extends Functions<Other>> = <Name extends keyof Other & string>(
  name: Name,
  ...args: Parameters<Other[Name]>
) => Promise<Awaited<ReturnType<Other[Name]>>>;

/**
 * Makes the function that calls the other end of a port.
 *
 * @param own Returns the functions that the other end may call, or a promise of them.
 */
export function portCalls<Other extends Functions<Other>>(
  port: Port,
  own: () => object,
): PortCall<Other> {
  const pending = new Map<number, (answer: unknown) => void>();
  let nextId = 0;

  async function answer(id: number, name: string, args: readonly unknown[]): Promise<void> {
    try {
      const functions = await own() as Record<string, (...args: readonly unknown[]) => unknown>;
      port.postMessage({ id, value: await functions[name]!(...args) });
    } catch (error) {
      port.postMessage({ id, error: errorText(error) });
    }
  }

  /**
   * Settles the call with this id. The answer is made only if the call still waits, because
   * otherwise nobody would handle a rejection.
   */
  function settle(id: number, answer: () => unknown): void {
    pending.get(id)?.(answer());
    pending.delete(id);
  }

  port.on("message", (message) => {
    if ("name" in message) return void answer(message.id, message.name, message.args);
    const { id } = message;
    settle(
      id,
      () => "error" in message ? Promise.reject(new Error(message.error)) : message.value,
    );
  });
  port.on("exit", () => {
    const ended = () => Promise.reject(new Error("the worker has ended"));
    for (const id of pending.keys()) settle(id, ended);
  });
  return (name, ...args) =>
    new Promise<never>((resolve) => {
      pending.set(nextId, resolve as (answer: unknown) => void);
      port.postMessage({ id: nextId++, name, args });
    });
}
