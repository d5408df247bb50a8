import type { Algorithm } from "../core/algorithm.ts";
import { checkInteger, checkOptions, complaint } from "../core/check.ts";
import type { Decision } from "../core/decision.ts";
import { parsePeriod, type Period } from "../core/period.ts";
import type { AsyncStore, Lane, Operation, Store, SyncStore } from "../core/store.ts";
import { aged } from "./aged.ts";
import { after, ended } from "./answers.ts";
import { type KeysOfLane, laneMap } from "./lane_map.ts";
import { laneOf } from "./lane_of.ts";
import { wrapped } from "./wrapped.ts";

/** The options of `lease`. */
export interface LeaseOptions {
  /** The units of one block; an integer of at least 2. */
  readonly units: number;
  /** How long a block may be used, in milliseconds or as text: `"50ms"`. */
  readonly ttl: Period;
  /** The most keys of which something is held; a positive integer; default 10,000. */
  readonly maxKeys?: number | undefined;
}

/** A block of units that were taken from the store, and are handed out here. */
interface Block {
  /** Units left of it. */
  left: number;
  /** When it was asked for. */
  readonly at: number;
  /** Whether that is by `performance.now`, and not by the caller's clock. */
  readonly ownTime: boolean;
  /** What the store said when it was taken. */
  readonly decision: Decision;
  /** Whether the store answers by promises. */
  readonly promised: boolean;
}

/** What is held of a key. */
interface Tenant {
  block: Block | undefined;
  /** Until when no block is worth asking for, as the store has refused one. */
  noBlockUntil: number;
  /** The purchase under way: whoever comes in the meantime waits for it. */
  buying: Promise<unknown> | undefined;
}

/**
 * A store that takes units a block at a time, and hands them out by itself: most calls are answered
 * without asking the store.
 *
 * Charges keep to the limit exactly, to the last unit: a block is taken as one call of that cost,
 * and where the store has fewer left, units are taken one call at a time. But units may be used up
 * to `ttl` after they were charged, and those that nobody used by then are lost. So the use in any
 * span d is bounded by what the policy admits in d + ttl. With `gcra({ limit: 1_000, period: "1s",
 * burst: 100 })`, blocks of 20 and a ttl of 50 ms, a second sees at most 100 + 1,050 units used in
 * place of 100 + 1,000; with 10 processes that each see a call now and then, up to 10 * 20 units
 * may be lost every 50 ms, so choose blocks small against what a process uses in a ttl.
 *
 * A larger cost than a block goes straight to the store; so do refunds, looks and calls on several
 * keys at once. What a call is told of `remaining` and of waits is as old as its block. `leakyQueue`
 * is not accepted, as its calls have their places in time.
 *
 * Constant time; at most `maxKeys` keys are held, some 300 bytes each.
 *
 * @param store The store to take from, of any kind.
 * @param options As above.
 * @throws {TypeError} If an option is of the wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example
 * ```ts
 * import { gcra, limiter, memoryStore } from "tidegate";
 * import { lease } from "tidegate/stores";
 * import assert from "node:assert/strict";
 *
 * const shared = memoryStore();
 * const algorithm = gcra({ limit: 100, period: "1m" });
 * const store = lease(shared, { units: 10, ttl: "50ms" });
 * const api = limiter(algorithm, { store, prefix: "api" });
 * const exact = limiter(algorithm, { store: shared, prefix: "api" });
 *
 * assert.equal(api.consume("user:42").allowed, true);
 * assert.equal(exact.peek("user:42", 0).remaining, 90); // a block is gone
 * ```
 */
export function lease(store: SyncStore, options: LeaseOptions): SyncStore;
/** The same on a store that answers by promises. */
export function lease(store: AsyncStore, options: LeaseOptions): AsyncStore;
/** The same on a store of either kind. */
export function lease(store: Store, options: LeaseOptions): Store;
export function lease(store: Store, options: LeaseOptions): Store {
  const action = "create lease";
  checkOptions(action, options);
  const { units, maxKeys = 10_000 } = options;
  checkInteger(action, "units", units, 2);
  checkInteger(action, "maxKeys", maxKeys, 1);
  const ttl = parsePeriod(action, "ttl", options.ttl);
  const inner = store as SyncStore;
  const tenants = laneMap<Tenant>(inner, maxKeys);

  /** The block that may still be used. */
  function usable({ block }: Tenant, now: number, ownTime: boolean): Block | undefined {
    return block !== undefined && block.ownTime === ownTime && now - block.at < ttl
      ? block
      : undefined;
  }

  function tenantOf(keys: KeysOfLane<Tenant>, key: string): Tenant {
    const known = keys.get(key);
    if (known !== undefined) return known;
    const tenant: Tenant = { block: undefined, noBlockUntil: -Infinity, buying: undefined };
    keys.set(key, tenant);
    return tenant;
  }

  function lane(prefix: string, algorithm: Algorithm): Lane<Decision> {
    const ask = laneOf(inner, prefix, algorithm);
    const keys = tenants.of(prefix, algorithm.id);
    const size = Math.min(units, algorithm.capacity);

    function decideOne(key: string, cost: number, dry: boolean, now: number | undefined): Decision {
      if (cost < 0 || cost > size) return ask(key, cost, dry, now);
      const at = now ?? performance.now();
      const tenant = tenantOf(keys, key);
      const block = usable(tenant, at, now === undefined);
      if (cost === 0) {
        return after(ask(key, cost, dry, now), (look) => withLeft(look, block?.left ?? 0));
      }
      if (block !== undefined && block.left >= cost) {
        if (!dry) block.left -= cost;
        return handedOut(block, at);
      }
      if (dry) return ask(key, cost, dry, now);
      if (tenant.buying !== undefined) {
        return tenant.buying.then(
          () => decideOne(key, cost, dry, now),
          () => decideOne(key, cost, dry, now),
        ) as unknown as Decision;
      }
      return at < tenant.noBlockUntil ? ask(key, cost, dry, now) : buy(tenant, key, cost, now, at);
    }

    /** Takes a block, and the call's own units out of it; where there is none, those alone. */
    function buy(
      tenant: Tenant,
      key: string,
      cost: number,
      now: number | undefined,
      at: number,
    ): Decision {
      const asked = ended(() => ask(key, size, false, now), () => tenant.buying = undefined);
      const promised = asked instanceof Promise;
      const bought = after(asked, (decision) => {
        if (!decision.allowed) tenant.noBlockUntil = at + decision.retryAfter;
        else if (decision.source !== "policy") {
          const left = size - cost;
          tenant.block = { left, at, ownTime: now === undefined, decision, promised };
        }
        return decision;
      });
      if (promised) tenant.buying = bought as unknown as Promise<Decision>;
      return after(bought, (decision) => {
        if (decision.source === "policy") return decision;
        return decision.allowed ? withLeft(decision, size - cost) : ask(key, cost, false, now);
      });
    }

    return decideOne;
  }

  function run(operations: readonly Operation[], now?: number): readonly Decision[] {
    return inner.run(operations, now);
  }

  function forget(key: string): void {
    tenants.delete(key);
    return ended(() => inner.delete(key), () => tenants.delete(key));
  }

  function accepts(algorithm: Algorithm): void {
    if (/\bleakyQueue\b/.test(algorithm.id)) {
      const rule = "lease must be given an algorithm that starts calls at once";
      throw new RangeError(complaint("hand out units", rule, algorithm.id));
    }
    inner.accepts(algorithm);
  }

  return wrapped(inner, { run, lane, accepts, delete: forget });
}

/** The answer to a call that is served from a block. */
function handedOut({ decision, at, left, promised }: Block, now: number): Decision {
  const answer = aged(decision, now - at, Math.max(left, decision.remaining));
  return promised ? Promise.resolve(answer) as unknown as Decision : answer;
}

/** A decision that knows of the units left in a block. */
function withLeft(decision: Decision, left: number): Decision {
  return left > decision.remaining ? { ...decision, remaining: left } : decision;
}
