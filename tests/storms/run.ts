/*
 * Bad days of the stores, and what becomes of calls meanwhile:
 *
 *   npm run storms                  all of them: some two minutes
 *   npm run storms -- network       those whose names hold "network"
 *
 * Each storm prints a table; docs/internals/redis.md has them.
 */
import process from "node:process";

import { longReader } from "./long_reader.ts";
import { lockedRow } from "./locked_row.ts";
import { outageCauses } from "./outage_causes.ts";
import { pinnedContexts } from "./pinned_contexts.ts";
import { slowNetwork } from "./slow_network.ts";
import { stalledServer } from "./stalled_server.ts";
import type { Row, Storm } from "./storm.ts";
import { terminatedBackend } from "./terminated_backend.ts";
import { thinLease } from "./thin_lease.ts";

const STORMS: readonly Storm[] = [
  slowNetwork,
  stalledServer,
  outageCauses,
  pinnedContexts,
  lockedRow,
  terminatedBackend,
  longReader,
  thinLease,
];

const wanted = process.argv[2] ?? "";
for (const { name, run } of STORMS.filter(({ name }) => name.includes(wanted))) {
  console.log(`\n${name}\n\n${tableOf(await run())}`);
}

/** A table in Markdown. */
function tableOf(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [
    columns,
    columns.map(() => "---"),
    ...rows.map((row) => columns.map((column) => row[column] ?? "")),
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
