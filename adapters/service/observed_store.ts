import type { Store } from "../../mod.ts";
import { loadPackage } from "../packages/load_package.ts";

/**
 * A store that reports to OpenTelemetry, if it is to.
 *
 * @throws {Error} If the package is not installed; the message names the command that installs it.
 */
export async function observedStore(store: Store, reports: boolean): Promise<Store> {
  if (!reports) return store;
  const { openTelemetryStore } = await loadPackage({
    name: "@opentelemetry/api",
    action: "report to OpenTelemetry",
    since: "1.3",
    load: () => import("../otel/otel.ts"),
    isRecent: (module) => "openTelemetryStore" in module,
  });
  return openTelemetryStore(store);
}
