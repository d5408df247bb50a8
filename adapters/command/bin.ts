#!/usr/bin/env node
/**
 * The file that the command `tidegate` runs; it is not imported.
 *
 * On Deno: `deno run -A jsr:@tidegate/tidegate/bin serve rules.yaml`.
 *
 * @module
 */

import process from "node:process";

import { commandLine } from "./command_line.ts";

// A reader such as `head` may close the pipe early; later output is then dropped.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}
process.exitCode = await commandLine(process.argv.slice(2));
