// Runs a file in another process of the runtime at hand. What it prints is its report, as JSON.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import process from "node:process";
import { promisify } from "node:util";

/**
 * @param {URL} file
 * @param {readonly string[]} args
 * @returns {Promise<any>}
 */
export async function reportOf(file, args) {
  const before = "Deno" in globalThis ? ["run", "-A", "--no-check"] : [];
  const all = [...before, fileURLToPath(file), ...args];
  return JSON.parse((await promisify(execFile)(process.execPath, all)).stdout);
}
