/*
 * Loads optional packages on first use, so that an application installs only what it needs and
 * learns how to install what is missing.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";

import { tooOldError } from "./too_old_error.ts";

/** An optional package, which the application may have in any version. */
export interface OptionalPackage<Module> {
  readonly name: string;
  /** The action that needs the package. */
  readonly action: string;
  /** The oldest version that works. */
  readonly since: string;
  /** Imports the package. */
  readonly load: () => Promise<Module>;
  /** Whether it is that version or a later one, detected by its features. */
  readonly isRecent: (module: Module) => boolean;
}

/**
 * Loads a package when it is needed.
 *
 * @throws {Error} If the package is not installed or too old; the message names the command that
 * installs it.
 */
export async function loadPackage<Module>(
  { name, action, since, load, isRecent }: OptionalPackage<Module>,
): Promise<Module> {
  let module: Module;
  try {
    module = await load();
  } catch (cause) {
    const ofProject = loadFromProject(name) as Module | undefined;
    if (ofProject === undefined) {
      throw new Error(
        `Cannot ${action} as the package ${name} must be installed: run npm install ${name}${
          isNpx() ? `, or npx --package=tidegate --package=${name} tidegate ...` : ""
        }`,
        { cause },
      );
    }
    module = ofProject;
  }
  if (isRecent(module)) return module;
  throw tooOldError(action, name, since, versionOf(name));
}

/** Loads the package from the working directory, because `npx` runs tidegate from npm's cache. */
function loadFromProject(name: string): unknown {
  try {
    return createRequire(join(process.cwd(), "package.json"))(name);
  } catch {
    return undefined;
  }
}

function isNpx(): boolean {
  return process.env["npm_command"] === "exec";
}

/** The version in its package.json, which a package need not export. */
function versionOf(name: string): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    const folder = join("node_modules", name);
    const home = entry.slice(0, entry.lastIndexOf(folder) + folder.length);
    return JSON.parse(readFileSync(join(home, "package.json"), "utf8")).version;
  } catch {
    // It was not loaded from `node_modules`.
    return undefined;
  }
}
