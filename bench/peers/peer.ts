import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const folder = new URL("./", import.meta.url);
const require = createRequire(new URL("package.json", folder));

/** A package of bench/peers, whose types are not known here. */
// deno-lint-ignore no-explicit-any
export function peer(name: string): any {
  try {
    return require(name);
  } catch (cause) {
    const message = `Cannot load ${name}: install it with "npm install --prefix bench/peers"`;
    throw new Error(message, { cause });
  }
}

/** Whether a package of bench/peers is installed. */
export function hasPeer(name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** Its version, as installed. */
export function versionOf(name: string): string {
  const places = ["./", "../../"].map((up) => new URL(`${up}node_modules/${name}/`, folder));
  const found = places.find((place) => existsSync(place));
  return JSON.parse(readFileSync(new URL("package.json", found), "utf8")).version;
}

/** Installs the packages of bench/peers, where that has not been done. */
export function installPeers(): void {
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
  const isThere = (name: string) => existsSync(new URL(`node_modules/${name}/`, folder));
  if (Object.keys(dependencies).every(isThere)) return;
  const options = ["--no-audit", "--no-fund", "--no-package-lock", "--silent"];
  execFileSync("npm", ["install", ...options], { cwd: fileURLToPath(folder), stdio: "inherit" });
}
