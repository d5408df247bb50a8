// Starts the Chromium of this machine, headless. Runs on Node.
import process from "node:process";

import { chromium } from "playwright-core";

import { requireProgram } from "../../.ci/programs.mjs";

/** A browser that the caller closes. */
export function launchChromium() {
  const { command, env } = requireProgram("chromium");
  return chromium.launch({
    executablePath: command,
    env: { ...process.env, ...env },
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}
