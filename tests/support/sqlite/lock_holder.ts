/*
 * A process that locks a SQLite file and holds the lock, as one does that is stopped in the middle of
 * a transaction. Started by kills.test.ts.
 */
import process from "node:process";

import { openPath } from "../../../stores/sqlite/database.ts";

const database = openPath(process.argv[2]!);
database.exec("PRAGMA busy_timeout = 5000");
database.exec("BEGIN IMMEDIATE");
console.log("locked");
// Named, so that no collector closes it.
setInterval(() => database.prepare, 1_000);
