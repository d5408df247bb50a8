import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";

import { rootPath } from "../../../support/tree.ts";

/** A command that runs in a process of its own. */
export interface Spawned {
  readonly child: ChildProcess;
  /** Resolves to the exit status. */
  readonly ended: Promise<number | null>;
  /** What it has printed. */
  said(): string;
  /** Waits until it has printed this; rejects if it ends before. */
  says(text: string): Promise<void>;
}

/** Runs the command `tidegate`. */
export function spawned(...args: readonly string[]): Spawned {
  const before = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  const all = [...before, `${rootPath}adapters/command/bin.ts`, ...args];
  const child = spawn(process.execPath, all, { cwd: rootPath, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  let hasEnded = false;
  child.stdout.on("data", (data) => text += String(data));
  child.stderr.on("data", (data) => text += String(data));
  const ended = new Promise<number | null>((resolve) => {
    child.on("close", (status) => {
      hasEnded = true;
      resolve(status);
    });
  });
  return {
    child,
    ended,
    said: () => text,
    async says(wanted) {
      do {
        await new Promise((resolve) => setTimeout(resolve, 10));
        if (hasEnded) throw new Error(`The command ended: ${text}`);
      } while (!text.includes(wanted));
    },
  };
}
