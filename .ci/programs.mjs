// The programs that tests need beside the packages of npm. `npm test` installs what is missing from
// the distribution's packages: as root for the whole system, otherwise unpacked under
// node_modules/.cache. Tests only look for them, and are skipped by name where there is none.
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import process from "node:process";

/** @typedef {"redis-server" | "nginx" | "caddy" | "chromium" | "wrk" | "postgres" | "pgbouncer" | "mariadbd"} ProgramName */

/**
 * The programs of the tests, by the name of the file and of its Debian package. REDIS_SERVER,
 * NGINX, ... may give their paths.
 * @type {readonly ProgramName[]}
 */
const PROGRAMS = ["redis-server", "nginx", "caddy", "chromium"];

/**
 * Packages of other names: they are only unpacked, because installing one would start a server.
 * `npm run postgres` and `npm run drivers` need them.
 */
const UNPACKED = new Map([
  ["postgres", "postgresql"],
  ["pgbouncer", "pgbouncer"],
  ["mariadbd", "mariadb-server-core"],
]);

/**
 * @typedef {object} Program
 * @property {string} command The program's path.
 * @property {Record<string, string>} env Variables to add to the caller's environment.
 */

const cache = fileURLToPath(new URL("../node_modules/.cache/debian/", import.meta.url));
const minutes = 60_000;

/**
 * Finds a program without installing anything: where its variable points, on the PATH, among the
 * system's own folders, or where an earlier run unpacked it. TIDEGATE_WITHOUT names programs to
 * leave out, as in `TIDEGATE_WITHOUT=nginx,caddy`.
 * @param {ProgramName} name
 * @returns {Program | undefined}
 */
export function findProgram(name) {
  if (leftOut().includes(name)) return undefined;
  const variable = name.toUpperCase().replaceAll("-", "_");
  const given = process.env[variable];
  if (given) {
    if (isExecutable(given)) return { command: given, env: {} };
    throw new Error(`Cannot use ${variable} as it must be the path of a program: it is ${given}`);
  }
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const usual = ["/usr/local/bin", "/usr/bin", "/usr/sbin", ...postgresFolders("/usr")];
  for (const folder of [...folders, ...usual]) {
    const command = join(folder, name);
    if (isExecutable(command)) return { command, env: {} };
  }
  return findUnpacked(name, join(cache, name));
}

/**
 * Finds a program that a test was not skipped for.
 * @param {ProgramName} name
 * @returns {Program}
 */
export function requireProgram(name) {
  const program = findProgram(name);
  if (program !== undefined) return program;
  throw new Error(`Cannot find ${name}: install it with "sudo apt-get install ${packageOf(name)}"`);
}

/**
 * The Debian package that a program is in.
 * @param {ProgramName} name
 */
export function packageOf(name) {
  return UNPACKED.get(name) ?? name;
}

/** @param {readonly ProgramName[]} names */
export function missingPrograms(names = PROGRAMS) {
  return names.filter((name) => findProgram(name) === undefined);
}

/**
 * Installs the programs that are missing, as far as that is possible here.
 * @param {readonly ProgramName[]} names
 * @returns {readonly ProgramName[]} The programs that are still missing.
 */
export function installPrograms(names = PROGRAMS) {
  const missing = () => missingPrograms(names);
  const wanted = missing().filter((name) => !leftOut().includes(name));
  if (wanted.length > 0 && findCommand("apt-get")) {
    console.log(`Installing ${wanted.join(", ")}`);
    const forAll = wanted.filter((name) => !UNPACKED.has(name));
    if (process.getuid?.() === 0 && forAll.length > 0) installForAll(forAll);
    for (const name of wanted) {
      if (missing().includes(name)) unpack(packageOf(name), join(cache, name));
    }
  }
  return missing();
}

function leftOut() {
  return (process.env["TIDEGATE_WITHOUT"] ?? "").split(",");
}

/** @param {string} name */
function findCommand(name) {
  return spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0;
}

/** @param {readonly string[]} names */
function installForAll(names) {
  run("apt-get", ["update", "-qq"]);
  run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...names]);
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
  const folders = ["usr/bin", "usr/sbin", "bin", "sbin"].map((place) => join(tree, place));
  for (const folder of [...folders, ...postgresFolders(join(tree, "usr"))]) {
    const command = join(folder, program);
    if (isExecutable(command)) return { command, env: libraries(tree) };
  }
  return undefined;
}

/**
 * The folders of the programs of Postgres, the newest version first.
 * @param {string} usr
 * @returns {readonly string[]}
 */
function postgresFolders(usr) {
  const folder = join(usr, "lib/postgresql");
  if (!existsSync(folder)) return [];
  const versions = readdirSync(folder).sort((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(folder, version, "bin"));
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
  const given = process.env["LD_LIBRARY_PATH"];
  return { LD_LIBRARY_PATH: [...folders, ...(given ? [given] : [])].join(delimiter) };
}

/** @param {string} path */
function isExecutable(path) {
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
    stdio: ["ignore", "pipe", "ignore"],
    timeout: 5 * minutes,
  });
}
