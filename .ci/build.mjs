// `npm run build`: the npm package's JavaScript and types, in dist/, by the compiler alone.
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import process from "node:process";

import { child } from "./child.mjs";
import { install, root } from "./install.mjs";

/**
 * Builds dist/ anew.
 * @returns {Promise<import("./child.mjs").Ended>}
 */
export async function build() {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  const ended = await child("tsc", ["-p", "tsconfig.build.json"]);
  // The page of the service is plain files, which the compiler leaves alone.
  const page = "adapters/serve/page";
  cpSync(join(root, page), join(root, "dist", page), { recursive: true });
  return ended;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  install();
  process.exitCode = (await build()).status;
}
