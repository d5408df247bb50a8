/*
 * Proxies in front of the service, which ask it who may pass.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { type ProgramName, requireProgram } from "../../../../.ci/programs.mjs";
import { readText } from "../../../support/tree.ts";
import { freePort } from "../../../support/redis/free_port.ts";

/** A proxy of this test's own. */
export interface Proxy {
  readonly url: string;
  readonly port: number;
  /** Ends it, and leaves nothing behind. */
  stop(): Promise<void>;
}

/**
 * Starts Caddy as examples/deploy does, with a service at a URL that says who may have its page.
 *
 * @param name The file there.
 */
export function startCaddy(service: string, name = "Caddyfile"): Promise<Proxy> {
  return startProxy("caddy", "SIGTERM", (folder, port) => {
    const file = join(folder, "Caddyfile");
    const options = "{\nadmin off\nauto_https off\n}\n";
    const text = patient(readText(`examples/deploy/${name}`))
      .replace(":80 {", `http://127.0.0.1:${port} {`)
      .replace("limits:8080", new URL(service).host)
      .replace("/usr/share/caddy", folder);
    writeFileSync(file, options + text);
    writeFileSync(join(folder, "index.html"), "the page");
    return ["run", "--adapter", "caddyfile", "--config", file];
  });
}

/**
 * Starts nginx as examples/deploy does, with a service at a URL that says who may have its page.
 *
 * @param isOpen Whether the line is used that admits everybody while the service is away.
 * @param change Changes the configuration.
 */
export function startDeployedNginx(
  service: string,
  isOpen = false,
  change = (text: string) => text,
): Promise<Proxy> {
  return startProxy("nginx", "SIGQUIT", (folder, port) => {
    const text = patient(readText("examples/deploy/nginx.conf"))
      .replace(/ *server limits-b.*\n/, "")
      .replace("limits-a:8080", new URL(service).host)
      .replace("listen 80;", `listen 127.0.0.1:${port};`)
      .replace("/usr/share/nginx/html", `${folder}/www`)
      .replace(isOpen ? "# proxy_intercept_errors" : /$^/, "proxy_intercept_errors");
    mkdirSync(join(folder, "www"));
    writeFileSync(join(folder, "www/index.html"), "the page");
    const file = join(folder, "nginx.conf");
    writeFileSync(file, nginxFrame(folder, change(text)));
    return ["-p", folder, "-c", file, "-e", join(folder, "error.log")];
  });
}

/** Lets the proxy wait longer for an answer than a busy machine takes: the file says less than a second. */
function patient(text: string): string {
  return text.replaceAll(/\b\d+ms\b/g, "20s");
}

/** A configuration of nginx around these servers, so that it runs in a folder. */
export function nginxFrame(folder: string, servers: string): string {
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
  keepalive_requests 100000;
  ${servers}
}
`;
}

/** How nginx connects to the service. */
const KEEP_ALIVE = `proxy_http_version 1.1; proxy_set_header Connection "";`;

/**
 * Starts nginx in front of a page, with a service that says who may pass.
 *
 * @param services Where the service is, or several of them: `http://127.0.0.1:8080`.
 * @param upstream Directives for calls of the service.
 */
export function startNginx(
  services: string | readonly string[],
  upstream: string = KEEP_ALIVE,
): Promise<Proxy> {
  return startProxy("nginx", "SIGQUIT", (folder, port) => {
    mkdirSync(join(folder, "www"));
    writeFileSync(join(folder, "www/page.html"), "the page\n");
    const file = join(folder, "nginx.conf");
    writeFileSync(file, nginxConf(folder, port, [services].flat(), upstream));
    return ["-p", folder, "-c", file, "-e", join(folder, "error.log")];
  });
}

/**
 * Starts a program in a folder of its own; `configure` answers its arguments.
 *
 * @param own The ports that it listens on, where they are known before: a server may open them in any order.
 */
export async function startProxy(
  name: ProgramName,
  signal: NodeJS.Signals,
  configure: (folder: string, port: number) => readonly string[],
  own: readonly number[] = [],
): Promise<Proxy> {
  const { command, env } = requireProgram(name);
  const ports = own.length > 0 ? own : [await freePort()];
  const port = ports[0]!;
  const folder = mkdtempSync(join(tmpdir(), `tidegate-${name}-`));
  const args = configure(folder, port);
  const folders = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const start = () =>
    spawn(command, args, { env: { ...process.env, ...env, ...folders }, stdio: "ignore" });
  let child = start();
  // A connection of another test may have one of the ports for a moment.
  for (let tries = 0; !await answersAll(ports, child); tries++) {
    if (tries === 20) throw new Error(`The server ended with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    child = start();
  }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill(signal);
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until a server takes connections on each of its ports; answers whether it does, or has ended. */
async function answersAll(ports: readonly number[], child: ChildProcess): Promise<boolean> {
  for (const port of ports) if (!await answers(port, child)) return false;
  return true;
}

/** Waits until a server that was started takes connections; answers whether it does, or has ended. */
async function answers(port: number, child: ChildProcess): Promise<boolean> {
  for (let tries = 0; tries < 1_500; tries++) {
    if (child.exitCode !== null) return false;
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      const end = (answer: boolean) => {
        socket.destroy();
        resolve(answer);
      };
      socket.on("connect", () => end(true));
      socket.on("error", () => end(false));
    });
    if (open) return child.exitCode === null;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("The server did not start within 15 seconds");
}

function nginxConf(
  folder: string,
  port: number,
  services: readonly string[],
  upstream: string,
): string {
  // One that is down is asked again with the next call: while it restarts the other one may end.
  const servers = services.map((service) => `server ${new URL(service).host} max_fails=0;`);
  return nginxFrame(
    folder,
    `upstream tidegate { ${servers.join(" ")} keepalive 16; }
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
  }`,
  );
}
