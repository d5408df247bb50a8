// A gRPC client made of the public protocol, on Node, whose HTTP/2 is strict. It sends the calls of
// its second argument to the port of its first, so many at a time, and prints the answers. A fourth
// argument is a token to send as metadata.
import process from "node:process";
import { fileURLToPath } from "node:url";

import { credentials, loadPackageDefinition, Metadata } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const proto = fileURLToPath(new URL("./rls.proto", import.meta.url));
const definition = loadSync(proto, { keepCase: true, enums: String, longs: Number });
const { envoy } = /** @type {any} */ (loadPackageDefinition(definition));
const [port = "", text = "[]", atOnce = "1", token = ""] = process.argv.slice(2);
const metadata = new Metadata();
if (token !== "") metadata.set("authorization", `Bearer ${token}`);
const client = new envoy.service.ratelimit.v3.RateLimitService(
  `127.0.0.1:${port}`,
  credentials.createInsecure(),
);
const calls = JSON.parse(text);

/** @param {unknown} call */
function ask(call) {
  return new Promise((resolve) => {
    const deadline = Date.now() + 10_000;
    client.ShouldRateLimit(
      call,
      metadata,
      { deadline },
      (/** @type {any} */ error, /** @type {any} */ answer) =>
        resolve(error === null ? answer : { error: error.code, details: error.details }),
    );
  });
}

const answers = [];
for (let start = 0; start < calls.length; start += Number(atOnce)) {
  answers.push(...await Promise.all(calls.slice(start, start + Number(atOnce)).map(ask)));
}
console.log(JSON.stringify(answers));
client.close();
