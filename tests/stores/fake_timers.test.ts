import { mock, test } from "node:test";

import { behavioursOf } from "../../.ci/fakes/behaviour.mjs";
import * as mod from "../../mod.ts";
import * as stores from "../../stores/stores.ts";
import { runtime } from "../support/runtime.ts";

/** The fake timers of `bun:test`, or those of `node:test`. */
async function ownFakes() {
  if (runtime() === "bun") {
    const { jest } = await import("bun:test");
    return {
      install: () => void jest.useFakeTimers(),
      tick: (milliseconds: number) => void jest.advanceTimersByTime(milliseconds),
      restore: () => void jest.useRealTimers(),
    };
  }
  // Deno's fakes stop a `setImmediate` that was taken before, too.
  const apis = runtime() === "deno" ? ["Date", "setTimeout"] as const : undefined;
  return {
    install: () => mock.timers.enable({ apis: apis as never, now: Date.now() }),
    tick: (milliseconds: number) => mock.timers.tick(milliseconds),
    restore: () => mock.timers.reset(),
  };
}

for (const [name, behave] of Object.entries(behavioursOf({ ...mod, ...stores }))) {
  test(`under the runtime's own fake timers ${name}`, async () => {
    await behave(await ownFakes());
  });
}
