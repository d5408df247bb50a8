/*
 * A thread that goes step by step. It runs the store's own code, but before each of its accesses to
 * the shared memory a test is called, and does there what it likes: it lets other threads call, while
 * this one stands still, or throws. A thread is killed by a throw at each step from one on, so that
 * no `catch` or `finally` of it does anything more.
 */

import { attachMemory, type Memory } from "../../../../stores/shared/layout.ts";
import { openThreadStore } from "../../../../stores/shared/thread_store.ts";
import type { SharedStore, SharedStoreHandle } from "../../../../stores/shared/shared_store.ts";
import { observedMemory } from "./observed_memory.ts";

/**
 * Receives what a thread is about to do: `get`, `set` or the name of an atomic operation, and at which
 * index of an array whose elements are of 1, 4 or 8 bytes.
 */
export type BeforeStep = (what: string, index: number, bytes: number) => void;

type Operation = (array: object, index: number, ...rest: unknown[]) => unknown;

/** Attaches a thread that calls `before` at each of its steps; only within `whereObserved`. */
export function steppedStore({ buffer }: SharedStoreHandle, before: BeforeStep): SharedStore {
  return openThreadStore(steppedMemory(attachMemory(buffer), before));
}

/** A memory whose accesses call `before`. It works only within `whereObserved`. */
export function steppedMemory(memory: Memory, before: BeforeStep): Memory {
  return observedMemory(memory, (array) => (what, index, ...rest) => {
    before(what, index, array.BYTES_PER_ELEMENT);
    if (what === "get") return array[index];
    if (what === "set") return (array as { [index: number]: unknown })[index] = rest[0];
    return (Atomics as unknown as Record<string, Operation>)[what]!(array, index, ...rest);
  });
}
