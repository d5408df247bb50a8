// Loaded before the test files on Node. Its runner follows each promise by a hook, so that it can say
// which test an error belongs to that nobody caught; that takes an eighth of the processor time. Without
// the hook such an error still fails the run, and is printed here: `node --test FILE` says whose it is.
import { createRequire } from "node:module";
import process from "node:process";

const [hooks] = createRequire(import.meta.url)("internal/async_hooks").getHookArrays();

const timer = setInterval(() => {
  if (hooks.length === 0) return;
  for (const hook of [...hooks]) hook.disable();
  clearInterval(timer);
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    process.on(event, (error) => console.error(`${event} in some test:`, error));
  }
}, 10).unref();
