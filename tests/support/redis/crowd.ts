import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** What one process of the crowd reports. */
export interface Report {
  /** How often it was admitted, for each algorithm. */
  readonly admitted: Readonly<Record<string, number>>;
  readonly conflicts: number;
  readonly contended: number;
}

/**
 * Starts processes of the runtime at hand that take from the same keys at the same time.
 *
 * @param offered How often each of them tries, for each algorithm.
 */
export function crowd(
  processes: number,
  url: string,
  commit: "watch" | "cas" | "script",
  offered: number,
): Promise<readonly Report[]> {
  return Promise.all(
    Array.from(
      { length: processes },
      () => contender([url, commit, String(offered), String(processes)]),
    ),
  );
}

function contender(args: readonly string[]): Promise<Report> {
  const file = fileURLToPath(new URL("./contender.ts", import.meta.url));
  const before = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...before, file, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (data) => output += String(data));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(JSON.parse(output));
      else reject(new Error(`A process of the crowd ended with ${code}`));
    });
  });
}
