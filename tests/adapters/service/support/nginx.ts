import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { requireProgram } from "../../../../.ci/programs.mjs";
import { freePort } from "../../../support/redis/free_port.ts";
import { answers } from "./answers.ts";

/** An nginx of this test's own. */
export interface Nginx {
  readonly url: string;
  readonly port: number;
  /** Ends it, and leaves nothing behind. */
  stop(): Promise<void>;
}

/** How nginx connects to the service. */
const KEEP_ALIVE = `proxy_http_version 1.1; proxy_set_header Connection "";`;

/**
 * Starts nginx in front of nothing but itself, with a service that says who may pass.
 *
 * @param services Where the service is, or several of them: `http://127.0.0.1:8080`.
 * @param upstream Directives for calls of the service.
 */
export async function startNginx(
  services: string | readonly string[],
  upstream: string = KEEP_ALIVE,
): Promise<Nginx> {
  const { command, env } = requireProgram("nginx");
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "tidegate-nginx-"));
  mkdirSync(join(folder, "www"));
  writeFileSync(join(folder, "www/page.html"), "the page\n");
  writeFileSync(
    join(folder, "nginx.conf"),
    configuration(folder, port, [services].flat(), upstream),
  );
  const args = ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", join(folder, "error.log")];
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: "ignore" });
  await answers(port, child);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGQUIT");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function configuration(
  folder: string,
  port: number,
  services: readonly string[],
  upstream: string,
): string {
  // One that is down is asked again with the next call: while it restarts the other one may end.
  const servers = services.map((service) => `server ${new URL(service).host} max_fails=0;`);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`).join("\n  ");
  return `
daemon off;
worker_processes 2;
${process.getuid?.() === 0 ? "user root;" : ""}
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 256; }
http {
  ${temporary}
  access_log off;
  upstream tidegate { ${servers.join(" ")} keepalive 16; }
  server {
    listen 127.0.0.1:${port};
    root ${folder}/www;
    location / {
      auth_request /_limit;
      auth_request_set $retry_after $upstream_http_retry_after;
      auth_request_set $ratelimit $upstream_http_ratelimit;
      add_header RateLimit $ratelimit;
      error_page 403 = @limited;
      try_files /page.html =404;
    }
    location = /_limit {
      internal;
      proxy_pass http://tidegate/check?from=nginx&status=403;
      ${upstream}
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_set_header X-Original-URI $request_uri;
      proxy_set_header X-Original-Method $request_method;
      proxy_set_header X-Forwarded-For $remote_addr;
    }
    location @limited {
      add_header Retry-After $retry_after always;
      return 429 "too many requests\\n";
    }
  }
}
`;
}
