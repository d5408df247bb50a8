// `npm run prepare` builds dist/ by the compiler alone, without checking types. npm and pnpm run it
// in a clone, and for a project that installs the package from a git address; Bun does if that
// project trusts the package. npm and pnpm install the development dependencies before; Bun does not.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { build, UNCHECKED } from "./build.mjs";
import { child } from "./child.mjs";
import { root, versionOf } from "./install.mjs";

await prepare();

async function prepare() {
  const lent = existsSync(join(root, "node_modules/typescript")) ? undefined : await compiler();
  const { status, output } = await build(UNCHECKED, lent);
  if (lent !== undefined) rmSync(lent, { recursive: true, force: true });
  process.stdout.write(output);
  process.exitCode = status;
}

/** Installs the compiler of package-lock.json in a folder of its own. */
async function compiler() {
  const wanted = `typescript@${versionOf("typescript")}`;
  const folder = mkdtempSync(join(tmpdir(), "tidegate-compiler-"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  const isBun = process.env["npm_config_user_agent"]?.startsWith("bun/");
  const [command, verb] = isBun
    ? [process.env["npm_execpath"] ?? "bun", "add"]
    : ["npm", "install"];
  const { status, output } = await child(command, [verb, wanted], { cwd: folder });
  if (status === 0) return folder;
  throw new Error(`Cannot build tidegate as ${wanted} must be installed: ${output}`);
}
