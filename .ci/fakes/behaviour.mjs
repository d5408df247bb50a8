// How limiters behave under the fake timers of a test runner. The suite runs it with those that each
// runtime brings, and `npm run fakes` with those of Vitest, Jest and sinon, in projects of their own.
import { acquire } from "../../mod.ts";
import assert from "node:assert/strict";

/**
 * Fake timers of some kind.
 * @typedef {object} Fakes
 * @property {() => void} install From now on nothing moves but by `tick`.
 * @property {(milliseconds: number) => void} tick
 * @property {() => void} restore
 */

/**
 * The modules under test, as `tidegate` and `tidegate/stores` export them.
 * @typedef {Pick<typeof import("../../mod.ts"), "gcra" | "limiter" | "memoryStore">
 *   & Pick<typeof import("../../stores/stores.ts"), "compareAndSetStore" | "denyCache" | "lease">} Modules
 */

/** @typedef {import("../../stores/stores.ts").CompareAndSet} CompareAndSet */

/**
 * The behaviours by their names; a function has failed if it throws or rejects. Fakes are not installed
 * when it begins, nor when it has ended.
 *
 * @param {Modules} modules
 * @returns {Record<string, (fakes: Fakes) => Promise<void>>}
 */
export function behavioursOf({ gcra, limiter, memoryStore, compareAndSetStore, denyCache, lease }) {
  const once = gcra({ limit: 1, period: "10s", burst: 1 });

  return {
    "a limit of one process follows": under((tick) => {
      const api = limiter(once);
      assert.deepEqual([api.consume("a"), api.consume("a")].map(allowed), [true, false]);
      tick(9_999);
      assert.equal(api.consume("a").allowed, false);
      tick(1);
      assert.equal(api.consume("a").allowed, true);
    }),
    "acquire waits for it, to the millisecond": under(async (tick) => {
      const api = limiter(once);
      api.consume("a");
      let waiting = true;
      acquire(api, "a").then(() => waiting = false);
      await promises();
      tick(9_999);
      await promises();
      assert.equal(waiting, true);
      tick(1);
      await promises();
      assert.equal(waiting, false);
    }),
    "a wait ends by maxWait": under(async (tick) => {
      const api = limiter(once, { prefix: "api", store: later(memoryStore()) });
      /** @type {unknown} */
      let error;
      acquire(api, "a", { maxWait: 5_000 }).catch((reason) => error = reason);
      await promises();
      for (let second = 0; second < 6; second++) {
        tick(1_000);
        await promises();
      }
      assert.match(String(error), /StoreUnavailableError/);
    }),
    "denyCache forgets a refusal": under((tick) => {
      const api = limiter(once, { prefix: "api", store: denyCache(memoryStore()) });
      for (let call = 0; call < 3; call++) api.consume("a");
      tick(10_000);
      assert.equal(api.consume("a").allowed, true);
    }),
    "a lease gives back what is unused": under((tick) => {
      const algorithm = gcra({ limit: 100, period: "1d", burst: 100 });
      const inner = memoryStore();
      const store = lease(inner, { units: 10, ttl: "1s" });
      const api = limiter(algorithm, { prefix: "api", store });
      const left = () => limiter(algorithm, { prefix: "api", store: inner }).peek("a", 0).remaining;
      api.consume("a", 5);
      for (let call = 0; call < 2; call++) {
        api.consume("a");
        assert.equal(left(), 85);
      }
      for (let quarter = 0; quarter < 4; quarter++) tick(250);
      assert.equal(left(), 93);
      api.consume("a");
      assert.equal(left(), 91, "the next block has as many units as were used");
    }),
    "a store with a server answers meanwhile": under(async () => {
      const store = compareAndSetStore(driver(Date.now()));
      const api = limiter(once, { prefix: "api", store });
      const decisions = [await api.consume("a"), await api.consume("a")];
      assert.deepEqual(decisions.map(allowed), [true, false]);
      await store.close();
    }),
  };
}

/**
 * @param {(tick: Fakes["tick"]) => void | Promise<void>} body
 * @returns {(fakes: Fakes) => Promise<void>}
 */
function under(body) {
  return async ({ install, tick, restore }) => {
    install();
    try {
      await body(tick);
    } finally {
      restore();
    }
  };
}

/** @param {{ readonly allowed: boolean }} decision */
function allowed({ allowed }) {
  return allowed;
}

/** Lets go on what waits for promises only. */
async function promises() {
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
}

/**
 * A store whose calls are never answered.
 * @param {import("../../mod.ts").MemoryStore} store
 * @returns {import("../../mod.ts").AsyncStore}
 */
function later(store) {
  const open = (/** @type {never} */ spec) => {
    const family = store.open(spec);
    return {
      ...family,
      bind: (/** @type {never} */ verb) => ({
        ...family.bind(verb),
        call: () => new Promise(() => {}),
      }),
    };
  };
  return /** @type {never} */ ({ ...store, open });
}

/**
 * A database that a map stands for, one turn of the event loop away.
 * @param {number} now
 * @returns {CompareAndSet}
 */
function driver(now) {
  /** @type {Map<string, string>} */
  const texts = new Map();
  return {
    name: "The map",
    async commit(groups) {
      await new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => resolve(port1.close());
        port2.postMessage(0);
      });
      const lost = groups.flatMap((cells, group) => {
        const held = cells.map(({ key }) => texts.get(key) ?? "");
        if (cells.some((cell, index) => cell.held !== held[index])) return [{ group, held }];
        for (const { key, next } of cells) texts.set(key, next);
        return [];
      });
      return { now, lost };
    },
  };
}
