/*
 * A connection or a timer made in a request keeps the request's `AsyncLocalStorage` contexts in memory
 * for as long as it lives. So stores begin such work in the context in which this module was loaded.
 */

import { builtinModule } from "./builtin_module.ts";

/** Calls a function with its arguments. */
type Run = <Args extends readonly unknown[], Result>(
  work: (...args: Args) => Result,
  ...args: Args
) => Result;

/** Runs work outside of its caller's contexts, if the runtime can (Node 20.16 or later, Bun, Deno). */
export const outsideCallers: Run =
  builtinModule<{ readonly AsyncLocalStorage?: { snapshot?(): Run } }>("node:async_hooks")
    ?.AsyncLocalStorage?.snapshot?.() ?? ((work, ...args) => work(...args));
