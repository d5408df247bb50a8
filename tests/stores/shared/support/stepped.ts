/*
 * A thread that goes step by step. It runs the store's own code, but before each of its accesses to
 * the shared memory a test is called, and does there what it likes: it lets other threads call, while
 * this one stands still, or throws. A thread is killed by a throw at each step from one on, so that
 * no `catch` or `finally` of it does anything more.
 */

import { attachMemory, type Memory } from "../../../../stores/shared/layout.ts";
import { openThreadStore } from "../../../../stores/shared/thread_store.ts";
import type { SharedStore, SharedStoreHandle } from "../../../../stores/shared/shared_store.ts";

/**
 * Receives what a thread is about to do: `get`, `set` or the name of an atomic operation, and at which
 * index of an array whose elements are of 1, 4 or 8 bytes.
 */
export type BeforeStep = (what: string, index: number, bytes: number) => void;

type Words = Memory["ints"] | Memory["floats"] | Memory["bigs"] | Memory["bytes"];

const OPERATIONS = ["load", "store", "add", "sub", "compareExchange"] as const;
const watched = new WeakMap<
  object,
  { readonly array: Words; touch(what: string, at: number): void }
>();

/** Attaches a thread that calls `before` at each of its steps; only within `inSteps`. */
export function steppedStore(
  { buffer }: SharedStoreHandle,
  before: BeforeStep,
): SharedStore {
  function watch<Array extends Words>(array: Array): Array {
    const bytes = array.BYTES_PER_ELEMENT;
    const touch = (what: string, index: number) => before(what, index, bytes);
    const proxy = new Proxy(array, {
      get(target, name) {
        if (isIndex(name)) {
          touch("get", Number(name));
          return target[Number(name)];
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
      set(target, name, value) {
        if (!isIndex(name)) return false;
        touch("set", Number(name));
        target[Number(name)] = value;
        return true;
      },
    });
    watched.set(proxy, { array, touch });
    return proxy;
  }

  const memory = attachMemory(buffer);
  const { ints, floats, bigs, bytes } = memory;
  return openThreadStore({
    ...memory,
    ints: watch(ints),
    floats: watch(floats),
    bigs: watch(bigs),
    bytes: watch(bytes),
  });
}

/** Runs a test in which atomic operations of stepped threads are steps, and nobody ever waits. */
export function inSteps(test: () => void): void {
  const originals = Object.getOwnPropertyDescriptors(Atomics);
  for (const name of OPERATIONS) {
    const original = Atomics[name] as (array: Words, index: number, ...rest: number[]) => unknown;
    Object.defineProperty(Atomics, name, {
      configurable: true,
      writable: true,
      value(array: Words, index: number, ...rest: number[]) {
        const own = watched.get(array);
        own?.touch(name, index);
        return original(own?.array ?? array, index, ...rest);
      },
    });
  }
  Object.defineProperty(Atomics, "wait", {
    configurable: true,
    writable: true,
    value: () => "timed-out",
  });
  try {
    test();
  } finally {
    Object.defineProperties(Atomics, originals);
  }
}

function isIndex(name: string | symbol): name is string {
  return typeof name === "string" && name >= "0" && name < ":";
}
