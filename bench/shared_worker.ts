import { parentPort, workerData } from "node:worker_threads";

import { gcra, limiter } from "../mod.ts";
import { lease } from "../stores/layered/layered.ts";
import { attachSharedStore, type SharedStoreHandle } from "../stores/shared/shared_store.ts";

/** The work of a thread of bench/shared.ts, and for how long. */
export interface Load {
  /** One key over its limit, one key within it (by blocks of units), or 100 thousand by Zipf's law. */
  readonly kind: "refused" | "admitted" | "leased16" | "leased64" | "leased256" | "zipf";
  readonly milliseconds: number;
}

interface Given {
  readonly handle: SharedStoreHandle;
  readonly flags: Int32Array;
}

const { handle, flags } = workerData as Given;
const store = attachSharedStore(handle);
const clock = () => 1_790_000_000_000;
const CALLS = 2 ** 16;
const KEYS = 100_000;
const zipf = Array.from(
  { length: CALLS },
  () => `user:${1_000_000_000 + Math.floor(KEYS ** Math.random()) - 1}`,
);
const hot = Array.from({ length: CALLS }, () => "hot");
const busy = gcra({ limit: 3_600_000, period: "1h", burst: 2 ** 40 });
const leased = (units: number) =>
  limiter(busy, { store: lease(store, { units, ttl: "50ms" }), prefix: "b", clock });
const loads = {
  refused: [
    limiter(gcra({ limit: 100, period: "1h", burst: 100 }), { store, prefix: "a", clock }),
    hot,
  ],
  admitted: [limiter(busy, { store, prefix: "b", clock }), hot],
  leased16: [leased(16), hot],
  leased64: [leased(64), hot],
  leased256: [leased(256), hot],
  zipf: [
    limiter(gcra({ limit: 1_000, period: "1h", burst: 1_000 }), { store, prefix: "c", clock }),
    zipf,
  ],
} as const;

/** Decisions a second. */
function run({ kind, milliseconds }: Load): number {
  const [{ consume }, keys] = loads[kind];
  Atomics.sub(flags, 0, 1);
  while (Atomics.load(flags, 0) > 0);
  const start = performance.now();
  let calls = 0;
  while (performance.now() - start < milliseconds) {
    for (let call = 0; call < 2_000; call++) consume(keys[(calls + call) & (CALLS - 1)]!);
    calls += 2_000;
  }
  return calls * 1_000 / (performance.now() - start);
}

parentPort!.on("message", (load: Load) => parentPort!.postMessage(run(load)));
parentPort!.postMessage("ready");
