import assert from "node:assert/strict";
import { test } from "node:test";

import { wrapStore } from "../../core/wrap_store.ts";
import {
  consumeAll,
  gcra,
  type Limiter,
  limiter,
  type MemoryStore,
  memoryStore,
  type SyncStore,
} from "../../mod.ts";

/** A custom store whose functions need `this`. */
class OwnStore implements SyncStore {
  readonly inner: MemoryStore = memoryStore();
  get maxOperations(): number {
    return 3;
  }
  open(...spec: Parameters<SyncStore["open"]>): ReturnType<SyncStore["open"]> {
    return this.inner.open(...spec);
  }
  run(...call: Parameters<SyncStore["run"]>): readonly unknown[] {
    return this.inner.run(...call);
  }
  deleteAll(prefix: string): void {
    this.inner.deleteAll!(prefix);
  }
  close(): void {
    this.inner.close();
  }
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.close());
  }
}

test("a store whose functions need `this` can be wrapped", async () => {
  const own = new OwnStore();
  const store = wrapStore(own, {}) as SyncStore;
  assert.equal(store.maxOperations, 3);
  const api: Limiter = limiter(gcra({ limit: 2, period: "1h", burst: 2 }), { store, prefix: "a" });
  const entries = ["one", "two"].map((key) => ({ limiter: api, key }));
  assert.equal(consumeAll(entries).remaining, 1);
  assert.equal(api.consume("one").remaining, 0);
  api.resetPrefix();
  assert.equal(own.inner.statistics().keys, 0);
  await store[Symbol.asyncDispose]();
  assert.throws(() => api.consume("one"), { name: "StoreUnavailableError" });
});
