import { findProgram, type ProgramName } from "../../.ci/programs.mjs";

/**
 * The options of a test that needs a program: skipped, and counted as such, where there is none.
 * `npm test` installs what it can before the tests start.
 */
export function needs(name: ProgramName): { readonly skip: boolean } {
  return { skip: findProgram(name) === undefined };
}
