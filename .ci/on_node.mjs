// Imports the test files of TIDEGATE_FILES, for Node. Its runner follows each promise by async hooks, so
// that it can say which test an error belongs to that nobody caught. That takes an eighth of the
// processor time of the suite, so the hooks end where the tests begin: such an error still fails
// the run, and is printed here. `node --test FILE` finds out whose it is.
import { createRequire } from "node:module";
import process from "node:process";

const asyncHooks = createRequire(import.meta.url)("node:async_hooks");
const { createHook } = asyncHooks;
/** @type {import("node:async_hooks").AsyncHook | undefined} */
let hook;
asyncHooks.createHook = (/** @type {import("node:async_hooks").HookCallbacks} */ callbacks) => {
  return hook = createHook(callbacks);
};
const { before } = await import("node:test");
before(() => void hook?.disable());
asyncHooks.createHook = createHook;

for (const event of ["uncaughtException", "unhandledRejection"]) {
  process.on(event, (error) => console.error(`${event} in some test:`, error));
}

await import("./on_deno.mjs");
