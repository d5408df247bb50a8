/*
 * A memory whose arrays say of each access what it is before, or instead of, doing it: by a proxy, and
 * by functions in the place of those of `Atomics`.
 */

import type { Memory } from "../../../../stores/shared/layout.ts";

/** An array of a memory. */
export type Words = Memory["ints"] | Memory["floats"] | Memory["bigs"] | Memory["bytes"];

/**
 * Answers an access: `get`, `set` or the name of an atomic operation, at an index of an array, and
 * what the operation is given.
 */
export type Access = (what: string, index: number, ...rest: unknown[]) => unknown;

const OPERATIONS = ["load", "store", "add", "sub", "compareExchange"] as const;
const accesses = new WeakMap<object, Access>();

/** A memory whose arrays answer by accesses. It works only within `whereObserved`. */
export function observedMemory(memory: Memory, accessOf: (array: Words) => Access): Memory {
  const { ints, floats, bigs, bytes } = memory;
  const observe = <Array extends Words>(array: Array) => observedArray(array, accessOf(array));
  return {
    ...memory,
    ints: observe(ints),
    floats: observe(floats),
    bigs: observe(bigs),
    bytes: observe(bytes),
  };
}

function observedArray<Array extends Words>(array: Array, access: Access): Array {
  const proxy = new Proxy(array, {
    get(target, name) {
      if (typeof name === "string" && name >= "0" && name < ":") return access("get", Number(name));
      if (name === "fill") {
        return (value: number, start: number, end: number) => {
          for (let at = start; at < end; at++) access("set", at, value);
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    set(_target, name, value) {
      access("set", Number(name), value);
      return true;
    },
  });
  accesses.set(proxy, access);
  return proxy;
}

/**
 * Runs code whose accesses to observed arrays are reported. Nobody ever waits: `pause` receives for
 * how many milliseconds a thread would have.
 */
export function whereObserved(
  run: () => void,
  pause: (milliseconds: number) => void = () => {},
): void {
  const originals = Object.getOwnPropertyDescriptors(Atomics);
  const replace = (name: string, value: unknown) =>
    Object.defineProperty(Atomics, name, { configurable: true, writable: true, value });
  for (const name of OPERATIONS) {
    const original = Atomics[name] as (array: object, index: number, ...rest: unknown[]) => unknown;
    replace(name, (array: object, index: number, ...rest: unknown[]) => {
      const access = accesses.get(array);
      return access === undefined ? original(array, index, ...rest) : access(name, index, ...rest);
    });
  }
  replace("wait", (_ints: Int32Array, _at: number, _value: number, milliseconds: number) => {
    pause(milliseconds);
    return "timed-out";
  });
  replace("notify", () => 0);
  try {
    run();
  } finally {
    Object.defineProperties(Atomics, originals);
  }
}
