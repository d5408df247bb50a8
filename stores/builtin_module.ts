/** A module of the runtime; `undefined` if the runtime has no module of that name. */
export function builtinModule<Module>(name: string): Module | undefined {
  const { process } = globalThis as {
    readonly process?: { getBuiltinModule?(name: string): unknown };
  };
  try {
    return process?.getBuiltinModule?.(name) as Module | undefined;
  } catch {
    return undefined;
  }
}
