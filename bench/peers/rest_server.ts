import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient } from "redis";

/** A stand-in for Upstash's REST server: a command as JSON in, its reply as JSON out. */
export interface RestServer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * A line that only Upstash's own servers understand; others refuse a script that begins with it.
 */
const FLAGS = /^#!lua flags=allow-key-locking\n/;

/** Passes commands on to the Redis at `url`, from a port of its own. */
export async function restServer(url: string): Promise<RestServer> {
  const client = await createClient({ url, commandOptions: { timeout: 0 } }).connect();
  /** The hash of a script as it runs here, by the hash that the library knows. */
  const hashes = new Map<string, string>();

  async function reply([name = "", script = "", ...rest]: readonly string[]): Promise<unknown> {
    if (name.toLowerCase() === "eval") {
      const loaded = await client.scriptLoad(script.replace(FLAGS, ""));
      hashes.set(createHash("sha1").update(script).digest("hex"), loaded);
      return await client.sendCommand(["EVALSHA", loaded, ...rest]);
    }
    return await client.sendCommand([name, hashes.get(script) ?? script, ...rest]);
  }

  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => body += part);
    request.on("end", async () => {
      const isMany = request.url === "/pipeline";
      const commands: unknown[][] = isMany ? JSON.parse(body) : [JSON.parse(body)];
      const replies = await Promise.all(commands.map((words) =>
        reply(words.map(String)).then(
          (result) => ({ result }),
          (error) => ({ error: String(error.message) }),
        )
      ));
      if (!isMany && "error" in replies[0]!) response.statusCode = 400;
      response.end(JSON.stringify(isMany ? replies : replies[0]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await client.close();
    },
  };
}
