/*
 * Rules that a program passes itself, and can change while they are followed.
 */

import type { KeyLookup } from "../engine/key_limits.ts";
import type { RuleFile } from "../files/rule_file.ts";
import type { RuleSource } from "./rule_source.ts";

/** Rules as objects in code. */
export interface ObjectSource extends RuleSource {
  /** Replaces the rules. */
  set(rules: RuleFile | readonly RuleFile[]): void;
}

/**
 * A source of rules as objects, for tests, or for programs that get their rules in their own way.
 *
 * @param rules The rules, in the form of rule files.
 * @param lookup Looks up the individual limits of keys.
 *
 * @example
 * ```ts
 * import { objectSource } from "tidegate/rules";
 * import assert from "node:assert/strict";
 *
 * const source = objectSource({ domain: "shop", rules: [] });
 * let changes = 0;
 * const stop = source.watch!(() => changes++, () => {});
 * source.set({ domain: "shop", rules: [{ key: "user", unlimited: true }] });
 * assert.equal(changes, 1);
 * stop();
 * ```
 */
export function objectSource(
  rules: RuleFile | readonly RuleFile[],
  lookup?: KeyLookup,
): ObjectSource {
  let current = rules;
  const listeners = new Set<() => void>();
  return {
    name: "object",
    lookup,
    load() {
      const files: readonly unknown[] = Array.isArray(current) ? current : [current];
      return Promise.resolve(files.map((data, index) => ({ name: `object ${index + 1}`, data })));
    },
    watch(changed) {
      listeners.add(changed);
      return () => void listeners.delete(changed);
    },
    set(next): void {
      current = next;
      for (const changed of listeners) changed();
    },
  };
}
