/*
 * The cost of a request in each adapter: microseconds of processor time, of the framework alone,
 * with one limit and with two on one store, and with the framework's usual limiter.
 * With `--old=FOLDER`, the limits of another checkout take their turns beside them.
 *
 *   git worktree add /tmp/old COMMIT
 *   npm run bench -- adapters --old=/tmp/old [--short] [--only=express,koa]
 *
 * The servers and the flaw are those of bench/peers/http.ts. The machine should do nothing else.
 */
import process from "node:process";

import { finish, median, runtime } from "./measure.ts";
import { type Asked, frameworksHere, kindsOf, measureServers } from "./peers/http.ts";
import { installPeers } from "./peers/peer.ts";

const word = (name: string) =>
  process.argv.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
const isShort = process.argv.includes("--short");
const old = word("old");
const only = word("only")?.split(",");

const OURS = ["tidegate", "two limits"];
const KINDS = ["bare", "by hand", ...OURS, "peer"];

installPeers();
const frameworks = frameworksHere().filter((name) => only?.includes(name) ?? true);
const asked = frameworks.flatMap((framework): Asked[] =>
  kindsOf(framework, KINDS).flatMap((kind) =>
    old !== undefined && OURS.includes(kind)
      ? [{ framework, kind, root: old }, { framework, kind }]
      : [{ framework, kind }]
  )
);
const table: Record<string, Record<string, number>> = {};
for (const { framework, kind, root, costs } of await measureServers(asked, isShort)) {
  const column = root === undefined ? kind : `${kind}, old`;
  (table[framework] ??= {})[column] = Math.round(median(costs) * 100) / 100;
}
console.log(`${runtime()}: µs of processor time a request`);
console.table(table);
finish();
