/*
 * A program that makes one call on a driver, and does not close its store.
 */

import { gcra, limiter } from "../../../mod.ts";
import { compareAndSetStore } from "../../../stores/stores.ts";
import { mapDriver } from "./map_driver.ts";

// The longest that a timer can be.
const store = compareAndSetStore(mapDriver(), { timeout: 2 ** 31 - 1 });
const api = limiter(gcra({ limit: 1, period: "1m", burst: 1 }), { store, prefix: "api" });
if (!(await api.consume("key")).allowed) throw new Error("a first call is admitted");
