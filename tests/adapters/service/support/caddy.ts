import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { requireProgram } from "../../../../.ci/programs.mjs";
import { freePort } from "../../../support/redis/free_port.ts";
import { answers } from "./answers.ts";

/** A Caddy of this test's own. */
export interface Caddy {
  readonly url: string;
  readonly port: number;
  /** Ends it, and leaves nothing behind. */
  stop(): Promise<void>;
}

/**
 * Starts Caddy in front of a page, with a service that says who may pass.
 *
 * @param service Where the service is: `http://127.0.0.1:8080`.
 */
export async function startCaddy(service: string): Promise<Caddy> {
  const { command, env } = requireProgram("caddy");
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "tidegate-caddy-"));
  const file = join(folder, "Caddyfile");
  writeFileSync(file, configuration(port, service));
  const child = spawn(command, ["run", "--adapter", "caddyfile", "--config", file], {
    env: { ...process.env, ...env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: "ignore",
  });
  await answers(port, child);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function configuration(port: number, service: string): string {
  return `{
  admin off
  auto_https off
}
http://127.0.0.1:${port} {
  forward_auth ${new URL(service).host} {
    uri /check?from=forwarded
  }
  respond "the page" 200
}
`;
}
