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

process.exitCode = await commandLine(process.argv.slice(2));
