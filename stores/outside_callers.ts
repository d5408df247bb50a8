/*
 * A connection or a timer made in a request keeps the request's `AsyncLocalStorage` contexts in memory
 * for as long as it lives. So stores begin such work in the context in which this module was loaded.
 */

/** Calls a function with its arguments. */
type Run = <Args extends readonly unknown[], Result>(
  work: (...args: Args) => Result,
  ...args: Args
) => Result;

/** Runs work outside of its caller's contexts, if the runtime can (Node 20.16 or later, Bun, Deno). */
export const outsideCallers: Run = snapshot() ?? ((work, ...args) => work(...args));

function snapshot(): Run | undefined {
  const { process } = globalThis as {
    readonly process?: { getBuiltinModule?(name: string): unknown };
  };
  const hooks = process?.getBuiltinModule?.("node:async_hooks") as
    | { readonly AsyncLocalStorage?: { snapshot?(): Run } }
    | undefined;
  return hooks?.AsyncLocalStorage?.snapshot?.();
}
