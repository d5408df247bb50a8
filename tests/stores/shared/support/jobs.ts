import { acquire, gcra, type Limiter } from "../../../../mod.ts";
import type { Decision } from "../../../../core/decision.ts";
import {
  attachSharedStore,
  type SharedStoreHandle,
} from "../../../../stores/shared/shared_store.ts";
import { policy } from "../../../support/policies.ts";
import { consumeKeys, limiterOn, NOW } from "./limiter_on.ts";

/** How often a worker looks for the others before it sleeps. */
const LOOKS = 20_000;

/** A key under a policy. */
interface OnKey {
  readonly policy: string;
  readonly limit: number;
  readonly key: string;
}

/** A worker's task. */
export type Job =
  /** Closes the store and uses another one. */
  | { readonly kind: "attach"; readonly handle: SharedStoreHandle }
  /** Takes from one key until it is refused a hundred times; answers how many it got. */
  | ({ readonly kind: "hammer" } & OnKey)
  /** Takes from keys `k0`, `k1`, ... by Zipf's law. Answers the units that it got of each. */
  | { readonly kind: "zipf"; readonly limit: number; readonly keys: number; readonly calls: number }
  /** Takes, looks, gives back and may move the clock; answers each call with its beginning and end. */
  | ({ readonly kind: "record"; readonly calls: number; readonly isMoving: boolean } & OnKey)
  /**
   * Takes from two keys at once, and from each alone. Answers the units that it got of both and of
   * each.
   */
  | { readonly kind: "pairs"; readonly limit: number; readonly keys: readonly [string, string] }
  /**
   * Takes from, gives back to and forgets many keys, alone and several at once, until flag 4 is
   * raised; answers errors.
   */
  | {
    readonly kind: "churn";
    readonly limit: number;
    readonly names: readonly string[];
    readonly keys: number;
    readonly calls: number;
  }
  /** Waits for one unit of a key; answers whether it was admitted. */
  | { readonly kind: "acquire"; readonly limit: number; readonly key: string }
  /** Takes from that many new keys, and tries each until the store has room for it. Answers errors. */
  | { readonly kind: "fill"; readonly limit: number; readonly keys: number; readonly name: string }
  /** Takes from many keys, counting in `counts`, until it is killed or flag 4 is raised. */
  | { readonly kind: "forever"; readonly limit: number; readonly names: readonly string[] };

/** The data that a worker begins with. */
export interface Work {
  readonly handle: SharedStoreHandle;
  /**
   * 0: how many workers are to begin together; 1: a ticket counter; 2: the time; 4: whether they are
   * to stop.
   */
  readonly shared: SharedArrayBuffer;
  readonly counts: SharedArrayBuffer;
}

/** A call as a worker saw it. */
export interface SeenCall {
  readonly start: number;
  readonly end: number;
  readonly now: number;
  readonly cost: number;
  readonly dry: boolean;
  readonly decision: Decision;
}

/** Whole numbers below a bound, from a generator that needs no call of the runtime. */
function randomOf(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** Does one job after the other, as messages say. */
export function worker({ handle, shared, counts }: Work) {
  let store = attachSharedStore(handle);
  const flags = new Int32Array(shared);
  const got = new Int32Array(counts);
  let readAt = NOW;
  const clock = () => readAt = NOW + (flags[2] as number);

  function limiterOf(name: string, limit: number): Limiter {
    return limiterOn(store, policy(name, limit), clock);
  }

  /**
   * Waits until all workers of a round are here. It looks for a while, so that they begin at one
   * moment, and then sleeps, because on a busy machine another worker may not run for long.
   */
  function startTogether(): void {
    if (Atomics.sub(flags, 0, 1) === 1) Atomics.notify(flags, 0);
    for (let looks = 0, left; (left = Atomics.load(flags, 0)) > 0; looks++) {
      if (looks > LOOKS) Atomics.wait(flags, 0, left, 1);
    }
  }

  return (job: Job): unknown => {
    switch (job.kind) {
      case "attach":
        store.close();
        store = attachSharedStore(job.handle);
        return undefined;
      case "hammer": {
        const { consume } = limiterOf(job.policy, job.limit);
        startTogether();
        let admitted = 0;
        for (let refused = 0; refused < 100;) {
          if (consume(job.key).allowed) admitted++;
          else refused++;
        }
        return admitted;
      }
      case "zipf": {
        const { consume } = limiterOf("gcra", job.limit);
        const admitted = new Array<number>(job.keys).fill(0);
        startTogether();
        const random = randomOf(12_345 + Math.floor(Math.random() * 1e6));
        for (let call = 0; call < job.calls; call++) {
          const index = Math.floor(job.keys ** (random(2 ** 32) / 2 ** 32)) - 1;
          if (consume(`k${index}`).allowed) admitted[index]!++;
        }
        return admitted;
      }
      case "record": {
        const { consume, peek, refund } = limiterOf(job.policy, job.limit);
        const calls: SeenCall[] = [];
        startTogether();
        for (let call = 0; call < job.calls; call++) {
          const start = Atomics.add(flags, 1, 1);
          const which = (call * 7 + start) % 10;
          if (job.isMoving && call % 3 === 0) Atomics.add(flags, 2, 1_000 * (1 + start % 90));
          const cost = which < 7 ? 1 + (which % 2) : which === 7 ? 1 : -1;
          const dry = which === 7;
          const decision = dry
            ? peek(job.key, cost)
            : cost > 0
            ? consume(job.key, cost)
            : refund(job.key, 1);
          calls.push({ start, end: Atomics.add(flags, 1, 1), now: readAt, cost, dry, decision });
        }
        return calls;
      }
      case "pairs": {
        const api = limiterOf("gcra", job.limit);
        const [one, other] = job.keys;
        const admitted = [0, 0, 0];
        startTogether();
        for (let call = 0, refused = 0; refused < 100; call++) {
          const which = call % 3;
          const isAllowed = which === 0
            ? consumeKeys(api, ...(call % 2 === 0 ? [one, other] : [other, one]))
            : api.consume(which === 1 ? one : other).allowed;
          if (isAllowed) {
            admitted[which]!++;
            refused = 0;
          } else refused++;
        }
        return admitted;
      }
      case "churn": {
        const limiters = job.names.map((name) => limiterOf(name, job.limit));
        const random = randomOf(12_345 + Math.floor(Math.random() * 1e6));
        const errors = new Set<string>();
        startTogether();
        for (let call = 0; call < job.calls && flags[4] === 0; call++) {
          const each = limiters[random(limiters.length)]!;
          const keys = Array.from({ length: 4 }, () => `key ${random(job.keys)}`);
          const which = random(20);
          try {
            if (which < 4) each.reset(keys[0]!);
            else if (which < 6) each.refund(keys[0]!);
            else if (which < 9) {
              consumeKeys(each, ...new Set(keys));
            } else each.consume(keys[0]!);
          } catch (error) {
            errors.add((error as Error).name);
          }
          if (random(100) === 0) Atomics.add(flags, 2, 10);
        }
        return [...errors];
      }
      case "acquire": {
        const waiting = acquire(
          limiterOn(
            store,
            gcra({ limit: job.limit, period: "1h", burst: job.limit }),
            clock,
          ),
          job.key,
        );
        Atomics.sub(flags, 0, 1);
        return waiting.then(({ allowed }) => allowed);
      }
      case "fill": {
        const { consume } = limiterOf("gcra", job.limit);
        startTogether();
        let errors = 0;
        for (let key = 0; key < job.keys;) {
          try {
            consume(`${job.name} ${key}`);
            key++;
          } catch {
            errors++;
          }
        }
        return errors;
      }
      case "forever": {
        const limiters = job.names.map((name) => limiterOf(name, job.limit));
        for (let turn = 0; flags[4] === 0; turn++) {
          limiters.forEach((each, index) => {
            if (each.consume("hot").allowed) Atomics.add(got, index, 1);
          });
          if (consumeKeys(limiters[0]!, "pair one", "pair two")) {
            Atomics.add(got, limiters.length, 1);
          }
          limiters[turn % limiters.length]!.consume(`cold ${turn % 300}`);
        }
        return "stopped";
      }
    }
  };
}
