// A gRPC client made of the public protocol, on Node, whose HTTP/2 is strict. Of each line of its input,
// which is JSON, it sends `calls` to the port `port`, `atOnce` at a time, with `token` as metadata where
// there is one, and prints the answers in a line.
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { credentials, loadPackageDefinition, Metadata } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const proto = fileURLToPath(new URL("./rls.proto", import.meta.url));
const definition = loadSync(proto, { keepCase: true, enums: String, longs: Number });
const { envoy } = /** @type {any} */ (loadPackageDefinition(definition));

/** @param {{ port: number, calls: unknown[], atOnce: number, token: string }} task */
async function answersTo({ port, calls, atOnce, token }) {
  const metadata = new Metadata();
  if (token !== "") metadata.set("authorization", `Bearer ${token}`);
  const client = new envoy.service.ratelimit.v3.RateLimitService(
    `127.0.0.1:${port}`,
    credentials.createInsecure(),
    // Each has a connection of its own, as if another program asked.
    { "grpc.use_local_subchannel_pool": 1 },
  );
  /** @param {unknown} call */
  const ask = (call) =>
    new Promise((resolve) => {
      const deadline = Date.now() + 10_000;
      client.ShouldRateLimit(
        call,
        metadata,
        { deadline },
        (/** @type {any} */ error, /** @type {any} */ answer) =>
          resolve(error === null ? answer : { error: error.code, details: error.details }),
      );
    });
  const answers = [];
  for (let start = 0; start < calls.length; start += atOnce) {
    answers.push(...await Promise.all(calls.slice(start, start + atOnce).map(ask)));
  }
  client.close();
  return answers;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...task } = JSON.parse(line);
  void answersTo(task).then((answers) => console.log(JSON.stringify({ id, answers })));
}
