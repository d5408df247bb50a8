import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { mock, test } from "node:test";
import { fileURLToPath } from "node:url";

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

/** Whether this process may be faked: on Bun its clock would stay ahead for all later tests. */
const isOwn = runtime() !== "bun" || process.env["TIDEGATE_FAKES"] === "1";

let elsewhere: Promise<void> | undefined;

/** Runs this file in a process of its own. */
async function runElsewhere(): Promise<void> {
  const child = spawn(process.execPath, ["test", fileURLToPath(import.meta.url)], {
    env: { ...process.env, TIDEGATE_FAKES: "1" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  child.stderr.on("data", (text) => output += text);
  const status = await new Promise((resolve) => child.on("close", resolve));
  assert.equal(status, 0, output);
}

for (const [name, behave] of Object.entries(behavioursOf({ ...mod, ...stores }))) {
  test(`under the runtime's own fake timers ${name}`, async () => {
    await (isOwn ? behave(await ownFakes()) : elsewhere ??= runElsewhere());
  });
}
