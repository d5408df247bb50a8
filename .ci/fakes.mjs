// `npm run fakes`: limiters under the fake timers of Vitest, Jest and sinon, in a project that has the
// newest of these and the packed package. The suite tries those of node:test and bun:test.
import { cpSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

import { root } from "./install.mjs";
import { inFolder, makeProject, must, packAnew } from "./package.mjs";

const PACKAGES = ["@electric-sql/pglite", "@jest/globals", "jest", "sinon", "vitest"];

/** @type {Record<string, string[]>} */
const RUNNERS = {
  vitest: ["vitest", "run", "vitest.test.mjs"],
  jest: [
    "node",
    "--experimental-vm-modules",
    "node_modules/jest/bin/jest.js",
    "--testMatch=**/jest.test.mjs",
  ],
  sinon: ["node", "--test", "sinon.test.mjs"],
};

await packAnew();
await inFolder("fakes", async (top) => {
  const folder = join(top, "project");
  const { status, output } = await makeProject(
    folder,
    Object.fromEntries(PACKAGES.map((name) => [name, "latest"])),
  );
  if (status !== 0) throw new Error(output);
  cpSync(join(root, ".ci/fakes"), folder, { recursive: true });
  const env = {
    ...process.env,
    PATH: `${join(folder, "node_modules/.bin")}:${process.env["PATH"]}`,
  };
  for (const [name, command] of Object.entries(RUNNERS)) {
    await must(folder, command, env);
    console.log(`${name}: passed`);
  }
});
