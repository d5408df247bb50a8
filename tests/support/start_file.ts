import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";

import { rootPath } from "./tree.ts";

/** Starts a file of tests/support in another process of the runtime at hand. */
export function startFile(name: string, args: readonly string[]): ChildProcess {
  const before = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  return spawn(process.execPath, [...before, `${rootPath}tests/support/${name}.ts`, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
}

/** Resolves when the process has ended, and its output is complete. */
export function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.on("close", () => resolve()));
}
