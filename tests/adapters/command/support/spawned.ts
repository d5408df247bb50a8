import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";

import { rootPath } from "../../../support/tree.ts";

/** A command that runs in a process of its own. */
export interface Spawned {
  readonly child: ChildProcess;
  /** Resolves to the exit status. */
  readonly ended: Promise<number | null>;
  readonly output: { readonly printed: string; readonly complaints: string };
  /** Its output so far. */
  said(): string;
  /** Waits until it has printed this; rejects if it ends before. */
  says(text: string): Promise<void>;
}

/** The command `tidegate` as a program and its arguments. */
export function commandOf(...args: readonly string[]): readonly string[] {
  const deno = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  return [process.execPath, ...deno, `${rootPath}adapters/command/bin.ts`, ...args];
}

/** Runs the command `tidegate`. */
export function spawned(...args: readonly string[]): Spawned {
  return started(commandOf(...args));
}

/** Runs a program. */
export function started([program, ...args]: readonly string[]): Spawned {
  const child = spawn(program!, args, { cwd: rootPath, stdio: ["ignore", "pipe", "pipe"] });
  const output = { printed: "", complaints: "" };
  const said = () => output.printed + output.complaints;
  let hasEnded = false;
  child.stdout.on("data", (data) => output.printed += String(data));
  child.stderr.on("data", (data) => output.complaints += String(data));
  const ended = new Promise<number | null>((resolve) => {
    child.on("close", (status) => {
      hasEnded = true;
      resolve(status);
    });
  });
  return {
    child,
    ended,
    output,
    said,
    async says(wanted) {
      do {
        await new Promise((resolve) => setTimeout(resolve, 10));
        if (hasEnded) throw new Error(`The command ended: ${said()}`);
      } while (!said().includes(wanted));
    },
  };
}
