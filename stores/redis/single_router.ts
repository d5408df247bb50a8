import { batcher } from "./batcher.ts";
import { breaker } from "./breaker.ts";
import type { Dial } from "./connection.ts";
import { fan } from "./fan.ts";
import { link } from "./link.ts";
import type { Commit } from "./node_connection.ts";
import type { Router } from "./router.ts";
import type { StoreParts } from "./store_parts.ts";

/** Brings every call to one server. */
export function singleRouter(dial: Dial, commit: Commit | "auto", parts: StoreParts): Router {
  const health = breaker();
  const past = { hasBeenUp: false };
  const { submit, close } = fan(
    parts.connections,
    () => batcher(link(dial, commit, parts, past), health, parts),
  );
  return {
    slotOf: () => 0,
    submit,
    untilProbe: () => health.untilProbe(),
    close,
  };
}
