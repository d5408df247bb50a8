import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";

import { rootPath } from "../tree.ts";

/** Starts a file of this folder in another process of the runtime at hand. */
export function startFile(name: string, args: readonly string[]): ChildProcess {
  const before = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  const file = `${rootPath}tests/support/sqlite/${name}.ts`;
  return spawn(process.execPath, [...before, file, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Resolves when the process has ended, and its output is complete. */
export function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.on("close", () => resolve()));
}
