// Asks a server for its health, on Node, made of the public protocol: prints what Check answers for
// three services, then each status that Watch reports, until the stream ends.
import process from "node:process";
import { fileURLToPath } from "node:url";

import { credentials, loadPackageDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const proto = fileURLToPath(new URL("./health.proto", import.meta.url));
const { grpc } = /** @type {any} */ (loadPackageDefinition(loadSync(proto, { enums: String })));
const client = new grpc.health.v1.Health(
  `127.0.0.1:${process.argv[2]}`,
  credentials.createInsecure(),
);
for (const service of ["", "envoy.service.ratelimit.v3.RateLimitService", "other"]) {
  console.log(
    await new Promise((resolve) =>
      client.Check(
        { service },
        (/** @type {any} */ error, /** @type {any} */ answer) =>
          resolve(error === null ? answer.status : error.code),
      )
    ),
  );
}
client.Watch({ service: "" })
  .on("data", (/** @type {any} */ { status }) => console.log(`now ${status}`))
  .on("error", (/** @type {any} */ { code }) => console.log(code))
  .on("end", () => client.close());
