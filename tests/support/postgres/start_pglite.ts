import { PGlite } from "@electric-sql/pglite";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

import { readText, rootPath } from "../tree.ts";

const { version } = JSON.parse(readText("node_modules/@electric-sql/pglite/package.json"));
/** The folder of a new database, which takes three quarters of the time of a start to make. */
const FOLDER = `${rootPath}node_modules/.cache/pglite/${version}.tar`;

/** Starts a Postgres in this process, with an empty database of its own. */
export async function startPGlite(): Promise<PGlite> {
  if (existsSync(FOLDER)) {
    return await PGlite.create({ loadDataDir: new Blob([readFileSync(FOLDER)]) });
  }
  const first = await PGlite.create();
  const folder = await first.dumpDataDir("none");
  const own = `${FOLDER}.${process.pid}`;
  mkdirSync(dirname(FOLDER), { recursive: true });
  writeFileSync(own, new Uint8Array(await folder.arrayBuffer()));
  // Whole or not at all, because other processes may read it.
  renameSync(own, FOLDER);
  return first;
}
