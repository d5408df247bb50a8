import { isMainThread, parentPort, workerData } from "node:worker_threads";

import { gcra, limiter } from "../../mod.ts";
import { attachSharedStore, type SharedStoreHandle } from "../../stores/shared/shared_store.ts";
import { lockedMap } from "./locked_map.ts";

/** The memory that the threads share. */
export interface Given {
  readonly handle: SharedStoreHandle;
  readonly table: SharedArrayBuffer;
  readonly flags: Int32Array;
}

/** The contestant to call, on which keys, and for how long. */
export interface Load {
  readonly name: string;
  readonly keys: "hot" | "many";
  readonly milliseconds: number;
}

/** Slots of the table by hand: a quarter of them are in use. */
export const SLOTS = 40_000;

/** The contestants, and the work that their figures leave out. */
export const CONTESTANTS = [
  { name: "tidegate, sharedStore", note: "exact; any algorithm; a thread may die at any time" },
  {
    name: "locked table by hand",
    note: "knows keys by a hash of 32 bits; a thread that dies in the lock stops all",
  },
] as const;

const [LIMIT, DAY] = [1_000_000_000, 86_400_000];
const MANY = Array.from({ length: 16_384 }, (_, index) => `user:${index * 7_919 % 10_000}`);
const KEYS = { hot: MANY.map(() => "hot"), many: MANY };

function serve({ handle, table, flags }: Given): void {
  const store = attachSharedStore(handle);
  const api = limiter(gcra({ limit: LIMIT, period: DAY, burst: LIMIT }), {
    store,
    prefix: "peers",
  });
  const byHand = lockedMap(table, SLOTS, LIMIT, DAY);
  const calls: Record<string, (key: string) => boolean> = {
    [CONTESTANTS[0].name]: (key) => api.consume(key).allowed,
    [CONTESTANTS[1].name]: (key) => byHand.consume(key),
  };
  parentPort!.on("message", ({ name, keys, milliseconds }: Load) => {
    const [call, texts] = [calls[name]!, KEYS[keys]];
    Atomics.sub(flags, 0, 1);
    while (Atomics.load(flags, 0) > 0);
    const start = performance.now();
    let count = 0;
    for (; performance.now() - start < milliseconds; count += 2_000) {
      for (let each = 0; each < 2_000; each++) {
        if (!call(texts[(count + each) & 16_383]!)) throw new Error(`${name} has refused a call`);
      }
    }
    parentPort!.postMessage(count * 1_000 / (performance.now() - start));
  });
  parentPort!.postMessage(0);
}

if (!isMainThread) serve(workerData);
