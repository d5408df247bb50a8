import { spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";

import type { Run } from "./load.ts";

/** Several processes at once, 64 calls in flight in each; what they did together. */
export async function crowd(
  processes: number,
  name: string,
  url: string,
  workload: "hot" | "zipf",
  milliseconds: number,
): Promise<Run> {
  const start = String(Date.now() + 2_000);
  const args = [name, url, workload, String(milliseconds), start];
  const runs = await Promise.all(Array.from({ length: processes }, () => one(args)));
  const sum = (of: (run: Run) => number) => runs.reduce((total, run) => total + of(run), 0);
  return {
    decisions: sum((run) => run.decisions),
    seconds: Math.max(...runs.map((run) => run.seconds)),
    p99: Math.max(...runs.map((run) => run.p99)),
    roundTrips: sum((run) => run.roundTrips),
  };
}

function one(args: readonly string[]): Promise<Run> {
  const file = fileURLToPath(new URL("./process.ts", import.meta.url));
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
      else reject(new Error(`A process of the bench ended with ${code}`));
    });
  });
}
