/*
 * tidegate beside others, in one run: `npm run bench -- peers [--short] [--only=memory,http]`.
 *
 * Installs the others into bench/peers, measures in memory, across threads, on Redis and behind
 * HTTP, writes bench/peers/results/*.json, and then the tables and plots of README.md and
 * docs/internals/peers.md. `--draw` only writes those. Contestants take turns, round after round; figures are
 * medians. Run it on a machine that does nothing else.
 */
import process from "node:process";

import { drawPeers } from "./peers/draw.ts";
import { installPeers } from "./peers/peer.ts";
import { keepResults, loadNow, type Row, type Section, SECTIONS } from "./peers/results.ts";

const isShort = process.argv.includes("--short");
const only = process.argv.find((word) => word.startsWith("--only="))?.slice(7).split(",");

/** Loaded one by one: a part must not wait for packages, or pay for code, of another one. */
const MEASURE: Readonly<Record<Section, () => Promise<readonly Row[]>>> = {
  memory: async () => await (await import("./peers/memory.ts")).memoryRows(isShort),
  shared: async () => await (await import("./peers/shared.ts")).sharedRows(isShort),
  redis: async () => await (await import("./peers/redis.ts")).redisRows(isShort),
  http: async () => await (await import("./peers/http.ts")).httpRows(isShort),
};

if (!process.argv.includes("--draw")) {
  installPeers();
  for (const section of SECTIONS) {
    if (only !== undefined && !only.includes(section)) continue;
    const [date, load] = [new Date().toISOString().slice(0, 10), await loadNow()];
    const rows = await MEASURE[section]();
    keepResults(section, { date, load, isShort, rows });
    console.log(section);
    console.table(Object.fromEntries(rows.map(({ name, values }) => [name, values])));
  }
}
drawPeers();
process.exit();
