// Installs the package from the git address of a clone, by each package manager, and imports every
// entry point there.
import { copyFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

import { child } from "./child.mjs";
import { root } from "./install.mjs";
import { tryOnEach } from "./installs.mjs";
import { inFolder, must } from "./package.mjs";

/**
 * @typedef {object} Repository
 * @property {string} address
 * @property {string} commit
 *
 * @typedef {object} Manager
 * @property {string} name
 * @property {readonly string[]} command
 * @property {readonly string[]} add Arguments that add packages.
 * @property {string} needs Configuration without which the package is not built; may be empty.
 * @property {(package_: string) => string} [workspace] pnpm-workspace.yaml.
 * @property {readonly (readonly string[])[]} runners Commands that then run the test.
 */

const TEST = "every_entry_point.test.mjs";
const ON_NODE = ["node", "--test", TEST];
const ON_BUN = ["bun", "test", `./${TEST}`];

/** The peers that the parts made for them import at once. */
const PEERS = ["effect", "fast-check", "@opentelemetry/api"];

/** Files and folders that a clone does not have, or that its build leaves alone. */
const NOT_CLONED = [".git", ".snippets", "bench", "dist", "node_modules", "tests"];

/** @type {readonly Manager[]} */
const MANAGERS = [
  ...["npm@10", "npm@11"].map((name) => ({
    name,
    command: ["npx", "--yes", name],
    add: ["install"],
    needs: "",
    runners: [ON_NODE],
  })),
  {
    name: "pnpm@10",
    command: ["npx", "--yes", "pnpm@10"],
    add: ["add"],
    needs: "`onlyBuiltDependencies`, as pnpm's error says",
    workspace: (name) => `onlyBuiltDependencies: ["${name}"]\n`,
    runners: [ON_NODE],
  },
  {
    name: "pnpm@12",
    command: ["npx", "--yes", "pnpm@12"],
    add: ["add"],
    needs: "`allowBuilds`, as pnpm's error says",
    workspace: (name) => `allowBuilds: { "${name}": true }\n`,
    runners: [ON_NODE],
  },
  {
    name: "bun",
    command: ["bun"],
    add: ["add", "--trust"],
    needs: "`--trust`",
    runners: [ON_BUN, ON_NODE],
  },
];

/**
 * Installs by Bun without the registry, and trusts the package, so that `prepare` builds it. Tries it
 * without its peers, then beside them, and leaves dist/ as it was built there.
 *
 * @returns {Promise<import("./child.mjs").Ended>}
 */
export function checkGitInstall() {
  const begun = performance.now();
  return inFolder("git", async (top) => {
    const { address } = await makeRepository(join(top, "clone"));
    const project = makeProject(join(top, "project"));
    const env = { BUN_INSTALL_CACHE_DIR: join(top, "cache") };
    await must(project, ["bun", "add", address], env);
    link("typescript", join(project, "node_modules/tidegate"));
    const trusted = await must(project, ["bun", "pm", "trust", "tidegate"], env);
    rmSync(join(root, "dist"), { recursive: true, force: true });
    cpSync(join(project, "node_modules/tidegate/dist"), join(root, "dist"), { recursive: true });
    const tried = await tryOnEach(project, "no_peers");
    if (tried.status !== 0) return tried;
    for (const name of PEERS) link(name, project);
    // "The built package" imports the same files on Node.
    const ended = await must(project, ON_BUN);
    const output = trusted.output + tried.output + ended.output;
    return { ...ended, seconds: (performance.now() - begun) / 1_000, output };
  });
}

/**
 * Installs by each manager, from the registry.
 *
 * @param {string} top A folder for the projects.
 * @returns {Promise<string>} A table.
 */
export async function gitInstalling(top) {
  const repository = await makeRepository(join(top, "clone"));
  const lines = [];
  for (const [index, manager] of MANAGERS.entries()) {
    const project = makeProject(join(top, `git-${index}`));
    const works = await installs(manager, repository, project);
    const { output } = await child(...command([...manager.command, "--version"]), { cwd: project });
    const [name] = manager.name.split("@");
    lines.push(`| ${name} ${output.trim()} | ${manager.needs || "nothing"} | ${works} |`);
  }
  return `
## Package managers, from the git address of a clone

| manager | needs | imports every entry point |
| --- | --- | --- |
${lines.join("\n")}

npm and pnpm install the development dependencies to build the package, which takes about half a
minute.
`;
}

/** @param {Manager} manager @param {Repository} repository @param {string} project */
async function installs(manager, { address, commit }, project) {
  if (manager.workspace !== undefined) {
    const text = manager.workspace(`tidegate@${address}#${commit}`);
    writeFileSync(join(project, "pnpm-workspace.yaml"), text);
  }
  const steps = [[...manager.command, ...manager.add, address, ...PEERS], ...manager.runners];
  for (const words of steps) {
    const { status, output } = await child(...command(words), { cwd: project });
    if (status !== 0) return `no: ${output.trim().split("\n").at(-1)}`;
  }
  return "yes";
}

/** @param {readonly string[]} words @returns {[command: string, args: string[]]} */
function command([name = "", ...args]) {
  return [name, args];
}

/**
 * A repository that holds what stands in this one's folder, committed or not, but for the tests.
 * @param {string} folder
 * @returns {Promise<Repository>}
 */
async function makeRepository(folder) {
  const filter = (/** @type {string} */ path) => !NOT_CLONED.includes(basename(path));
  cpSync(root, folder, { recursive: true, filter });
  const author = ["-c", "user.name=tidegate", "-c", "user.email=tidegate@localhost"];
  await must(folder, ["git", "init", "--quiet", "--initial-branch=main"]);
  await must(folder, ["git", "add", "--all"]);
  await must(folder, ["git", ...author, "commit", "--quiet", "--message=A clone"]);
  const { output } = await must(folder, ["git", "rev-parse", "HEAD"]);
  return { address: `git+file://${folder}`, commit: output.trim() };
}

/** A project with nothing but the test. @param {string} folder */
function makeProject(folder) {
  mkdirSync(folder);
  const manifest = { name: "project", private: true, type: "module" };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  copyFileSync(join(root, "tests/package", TEST), join(folder, TEST));
  return folder;
}

/** Lends a project a package of ours. @param {string} name @param {string} project */
function link(name, project) {
  const place = join(project, "node_modules", name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(join(root, "node_modules", name), place);
}
