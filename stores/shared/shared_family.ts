/*
 * The keys of one limiter in the shared store, for one thread. A family keeps the hash of its own
 * name, so a call only has to hash the limiter's key.
 */

import type { Algorithm } from "../../core/algorithm.ts";
import { bindOnce } from "../../core/bind_once.ts";
import type { BoundVerb, Family, FamilySpec, Operation, Verb } from "../../core/store.ts";
import { keyFamily, storedKey } from "../../core/stored_key.ts";
import { type DecideOn, singleCall, stepperOf } from "./decide.ts";
import type { HashStart } from "./table/hash.ts";
import type { ThreadView } from "./thread_view.ts";

/** The keys of one prefix and algorithm. */
export interface SharedKeys {
  readonly algorithm: Algorithm;
  /** The start of the hashes of the keys. */
  start(): HashStart;
}

/** A verb bound to keys in shared memory. */
export interface SharedBoundVerb<Argument, Answer> extends BoundVerb<Argument, Answer, "sync"> {
  readonly keys: SharedKeys;
  /** The keys under older options, the newest first. */
  readonly older: readonly SharedKeys[];
}

/** The parts of the store that a family needs. */
export interface FamilyHost {
  readonly view: ThreadView;
  readonly decideOn: DecideOn;
  /** The start of the hashes of a family, by its name. It changes when the family is reset. */
  startOf(name: string): HashStart;
  run(operations: readonly Operation[], now: number | undefined): readonly unknown[];
  forget(keys: SharedKeys, key: string): void;
  refundNotice(keys: SharedKeys, key: string): ReturnType<NonNullable<Family["refundNotice"]>>;
}

/** Opens a family for the calling thread. */
export function sharedFamily(host: FamilyHost, spec: FamilySpec): Family<"sync"> {
  const { prefix, algorithm } = spec;
  const keys = keysOf(host, prefix, algorithm);
  const older = spec.older.map((options) => keysOf(host, prefix, options.algorithm));
  const family: Family<"sync"> = Object.freeze({
    spec,
    bind: bindOnce<"sync">(<Argument, Answer>(verb: Verb<Argument, Answer>) => {
      const steps = verb.on(algorithm);
      const { view, decideOn } = host;
      const call = older.length === 0
        ? singleCall(view, decideOn, stepperOf(view, algorithm, verb, steps), keys.start)
        : (key: string, argument: Argument, now: number | undefined) =>
          host.run([{ bound, key, argument }], now)[0] as Answer;
      const bound: SharedBoundVerb<Argument, Answer> = { family, verb, steps, call, keys, older };
      return Object.freeze(bound);
    }),
    delete(key: string) {
      for (const each of [keys, ...older]) host.forget(each, key);
    },
    nameOf: (key: string) => storedKey(prefix, algorithm.id, key),
    refundNotice: (key: string) => host.refundNotice(keys, key),
  });
  return family;
}

function keysOf({ startOf }: FamilyHost, prefix: string, algorithm: Algorithm): SharedKeys {
  const name = keyFamily(prefix, algorithm.id);
  return { algorithm, start: () => startOf(name) };
}
