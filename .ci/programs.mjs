// Finds a program that tests need (redis-server, nginx, chromium), and installs it from the
// distribution's packages when it is missing: as root for the whole system, otherwise unpacked
// under node_modules/.cache, where it needs nobody's leave and goes with `rm -rf node_modules`.
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import process from "node:process";

/**
 * @typedef {object} Wanted
 * @property {string} program The file's name, `redis-server`.
 * @property {string} variable An environment variable that gives its path, `REDIS_SERVER`.
 * @property {string} debian The Debian package that holds it.
 */

/**
 * @typedef {object} Program
 * @property {string} command The program's path.
 * @property {Record<string, string>} env What its environment needs beyond the caller's.
 */

const cache = fileURLToPath(new URL("../node_modules/.cache/debian/", import.meta.url));
const minutes = 60_000;

/**
 * Finds a program without installing anything: where the variable points, on the PATH, among
 * the system's own folders, or where an earlier `ensureProgram` unpacked it.
 * @param {Wanted} wanted
 * @returns {Program | undefined}
 */
export function findProgram({ program, variable, debian }) {
  const given = process.env[variable];
  if (given) {
    if (executable(given)) return { command: given, env: {} };
    throw new Error(`Cannot use ${variable} as it must be the path of a program: it is ${given}`);
  }
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const folder of [...folders, "/usr/local/bin", "/usr/bin", "/usr/sbin"]) {
    const command = join(folder, program);
    if (executable(command)) return { command, env: {} };
  }
  return findUnpacked(program, join(cache, debian));
}

/**
 * Finds a program, and installs it if there is none.
 * @param {Wanted} wanted
 * @returns {Program}
 */
export function ensureProgram(wanted) {
  const found = findProgram(wanted);
  if (found !== undefined) return found;
  const { program, variable, debian } = wanted;
  console.log(`Installing ${program} from the package ${debian}`);
  const root = process.getuid?.() === 0;
  if (root) installForAll(debian);
  const installed = findProgram(wanted);
  if (installed !== undefined) return installed;
  unpack(debian, join(cache, debian));
  const unpacked = findProgram(wanted);
  if (unpacked !== undefined) return unpacked;
  throw new Error(
    `Cannot find ${program}: install it with "sudo apt-get install ${debian}", ` +
      `or set ${variable} to its path`,
  );
}

/** @param {string} debian */
function installForAll(debian) {
  run("apt-get", ["update", "-qq"]);
  run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", debian]);
}

/**
 * Downloads a package and what it depends on that is not installed, and unpacks it all in a
 * folder. The package lists are the system's if it has any, otherwise our own.
 * @param {string} debian
 * @param {string} folder
 */
function unpack(debian, folder) {
  const archives = join(folder, "archives");
  mkdirSync(archives, { recursive: true });
  const options = toDownload([], debian).length > 0 ? [] : ownLists(folder);
  const names = toDownload(options, debian);
  if (names.length > 0) run("apt-get", [...options, "download", ...names], archives);
  for (const file of readdirSync(archives)) {
    run("dpkg", ["-x", join(archives, file), join(folder, "root")]);
  }
  for (const spent of ["archives", "lists", "pkgcache.bin", "srcpkgcache.bin"]) {
    rmSync(join(folder, spent), { recursive: true, force: true });
  }
}

/**
 * @param {string[]} options
 * @param {string} debian
 * @returns {string[]}
 */
function toDownload(options, debian) {
  const { stdout } = run(
    "apt-get",
    [...options, "install", "--simulate", "--no-install-recommends", debian],
  );
  return [...(stdout ?? "").matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? "");
}

/** @param {string} folder */
function ownLists(folder) {
  const lists = join(folder, "lists");
  mkdirSync(join(lists, "partial"), { recursive: true });
  const options = ["-o", `Dir::State::lists=${lists}`, "-o", `Dir::Cache=${folder}`];
  run("apt-get", [...options, "update", "-qq"]);
  return options;
}

/**
 * @param {string} program
 * @param {string} folder
 * @returns {Program | undefined}
 */
function findUnpacked(program, folder) {
  const tree = join(folder, "root");
  for (const place of ["usr/bin", "usr/sbin", "bin", "sbin"]) {
    const command = join(tree, place, program);
    if (executable(command)) return { command, env: libraries(tree) };
  }
  return undefined;
}

/**
 * @param {string} tree
 * @returns {Record<string, string>}
 */
function libraries(tree) {
  const folders = [];
  for (const place of ["usr/lib", "lib"]) {
    const folder = join(tree, place);
    if (!existsSync(folder)) continue;
    folders.push(folder);
    for (const entry of readdirSync(folder)) {
      if (entry.endsWith("-linux-gnu")) folders.push(join(folder, entry));
    }
  }
  if (folders.length === 0) return {};
  const given = process.env.LD_LIBRARY_PATH;
  return { LD_LIBRARY_PATH: [...folders, ...(given ? [given] : [])].join(delimiter) };
}

/** @param {string} path */
function executable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Failures are not fatal here: whoever called looks whether the program is there afterwards.
 * @param {string} command
 * @param {string[]} args
 * @param {string} [cwd]
 */
function run(command, args, cwd) {
  return spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "pipe", args.includes("--simulate") ? "ignore" : "inherit"],
    timeout: 5 * minutes,
  });
}
