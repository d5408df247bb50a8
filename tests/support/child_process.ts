import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import process from "node:process";

import { rootPath } from "./tree.ts";

/** A program under way. */
export interface RunningProgram {
  /** The first line of its output that fits; fails if the program ends before. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends a signal and waits for the end; kills a program that goes on all the same. */
  end(signal: NodeJS.Signals): Promise<number | null>;
  /** Its status, once it has ended. */
  readonly ended: Promise<number | null>;
}

/** How long a program may take to end by a signal, in ms; `deno serve` may not end at all then. */
const END_WITHIN = 5_000;

/** Starts a program of node_modules/.bin, from the top of the repository. */
export function startProgram(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): RunningProgram {
  const child: ChildProcess = spawn(`${rootPath}node_modules/.bin/${command}`, args, {
    cwd: rootPath,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const wake = new Set<() => void>();
  let ended = false;
  const notify = () => wake.forEach((look) => look());
  createInterface({ input: child.stdout! }).on("line", (line) => {
    lines.push(line);
    notify();
  });
  const status = new Promise<number | null>((resolve) => {
    child.on("close", (code) => {
      ended = true;
      notify();
      resolve(code);
    });
  });

  return {
    line: (pattern) =>
      new Promise((resolve, reject) => {
        wake.add(look);
        look();
        function look(): void {
          for (const line of lines) {
            const match = pattern.exec(line);
            if (match === null) continue;
            wake.delete(look);
            return resolve(match);
          }
          if (!ended) return;
          wake.delete(look);
          reject(new Error(`${command} ended without a line like ${pattern}: ${lines.join("\n")}`));
        }
      }),
    end(signal) {
      // By its id: of a process ended by `child.kill` Deno says the signal, whatever its status was.
      if (child.exitCode === null && child.pid !== undefined) process.kill(child.pid, signal);
      const kill = setTimeout(() => child.kill("SIGKILL"), END_WITHIN);
      return status.finally(() => clearTimeout(kill));
    },
    ended: status,
  };
}
