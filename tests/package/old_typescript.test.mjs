// The types of the package for the oldest TypeScript, with the oldest module resolution.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";

/** The entry points whose types build on a peer's. */
const OF_PEERS = ["./effect", "./otel", "./testing", "./package.json"];

/** The format of modules with which each module resolution is used. */
const FORMATS = { node10: "commonjs", node16: "node16", bundler: "esnext" };

for (const [resolution, format] of Object.entries(FORMATS)) {
  test(`TypeScript 5.4 finds every entry point with the module resolution ${resolution}`, () => {
    const manifest = JSON.parse(readFileSync("node_modules/tidegate/package.json", "utf8"));
    const names = Object.keys(manifest.exports).filter((path) => !OF_PEERS.includes(path));
    const imports = names.map((path, index) =>
      `import * as entry${index} from "tidegate${path.slice(1)}";\nvoid entry${index};\n`
    );
    writeFileSync("entries.ts", imports.join(""));
    const { status, stdout } = spawnSync("node", [
      "node_modules/typescript/bin/tsc",
      ...["--noEmit", "--strict", "--target", "es2022", "--types", "node"],
      ...["--module", format, "--moduleResolution", resolution],
      "entries.ts",
    ], { encoding: "utf8" });
    assert.equal(stdout, "");
    assert.equal(status, 0);
  });
}
