/*
 * Calls between threads: each end of a port has functions by name, and calls the functions of the
 * other end.
 */

import { errorText } from "../log.ts";

/** The end of a port: a worker, as its owner has it, or the worker's own `parentPort`. */
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
 * Calls a function of the other end by its name; rejects with the message of what it throws, and if the
 * other end is a worker that ends before it has answered.
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

  /** Makes the answer where a call waits for it: nobody would handle the rejection of another. */
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
