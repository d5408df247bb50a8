// Which test files each runtime runs. Most of the code gives the same answers on each engine, so a run
// on several of them divides the files: each file runs on one, and with another seed on another one. The
// files that say something of the runtime itself run on all.

/** The files of which each runtime says something of its own, by what of it they use. */
const BY_RUNTIME = {
  itself: ["tests/runtime.test.ts"],
  timers: ["tests/core/clock.test.ts", "tests/core/waiting/waiting.test.ts"],
  "SharedArrayBuffer and Atomics": ["tests/stores/shared/acquire.test.ts"],
  "drivers of SQLite": ["tests/stores/sqlite/laws.test.ts", "tests/stores/sqlite/faults.test.ts"],
  "sockets of clients": [
    "tests/adapters/outbound/limited_fetch.test.ts",
    "tests/stores/redis/laws.test.ts",
  ],
  "servers and frameworks": [
    "tests/adapters/frameworks/hono.test.ts",
    "tests/adapters/frameworks/node.test.ts",
    "tests/adapters/http/servers/fetch_server.test.ts",
    "tests/adapters/service/http/http_server.test.ts",
  ],
};

/** The files that run on each runtime. */
export const EVERYWHERE = Object.values(BY_RUNTIME).flat();

/**
 * The files for a runtime.
 * @param {readonly string[]} files The files of the run.
 * @param {number} place Its place among the runtimes, from 0.
 * @param {number} count How many runtimes there are.
 * @returns {string[]}
 */
export function filesFor(files, place, count) {
  const divided = files.filter((file) => !runsEverywhere(file));
  // Neighbours take about as long, so each runtime gets every so many of them.
  const own = new Set(divided.filter((_, index) => index % count === place % count));
  return files.filter((file) => runsEverywhere(file) || own.has(file));
}

/** @param {string} file */
function runsEverywhere(file) {
  return EVERYWHERE.some((name) => file === `./${name}`);
}
