// `npm run build`: the npm package's JavaScript and types, in dist/, by the compiler alone.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import process from "node:process";

import { child } from "./child.mjs";
import { install, root } from "./install.mjs";

/**
 * Builds dist/ anew.
 * @returns {Promise<import("./child.mjs").Ended>}
 */
export function build() {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  return child("tsc", ["-p", "tsconfig.build.json"]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  install();
  process.exitCode = (await build()).status;
}
