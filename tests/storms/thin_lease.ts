import { setTimeout as wait } from "node:timers/promises";

import { gcra, limiter, memoryStore } from "../../mod.ts";
import { lease } from "../../stores/stores.ts";
import type { Row, Storm } from "./storm.ts";

/** A limit of so many units, far below what is asked. */
const LIMIT = 800;
const PROCESSES = 10;

/** Ten processes that lease units of one key, each of which sees a call now and then. */
export const thinLease: Storm = {
  name: "thin lease",
  async run() {
    const rows: Row[] = [];
    for (const [title, between] of [["20 ms", 20], ["none", 0]] as const) {
      const store = memoryStore();
      const algorithm = gcra({ limit: 1, period: "1h", burst: LIMIT });
      const exact = limiter(algorithm, { store, prefix: "api" });
      const apis = Array.from(
        { length: PROCESSES },
        () =>
          limiter(algorithm, { store: lease(store, { units: 20, ttl: "50ms" }), prefix: "api" }),
      );
      let admitted = 0;
      await Promise.all(apis.map(async (api) => {
        for (let call = 0; call < 1.5 * LIMIT / PROCESSES; call++) {
          if (api.consume("key").allowed) admitted++;
          await wait(between);
        }
      }));
      await wait(100);
      const left = exact.peek("key", 0).remaining;
      rows.push({
        "pause between calls": title,
        "units": LIMIT,
        admitted,
        "charged and unused": LIMIT - left - admitted,
      });
    }
    return rows;
  },
};
