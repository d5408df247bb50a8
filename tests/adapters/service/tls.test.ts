import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";

import { objectSource } from "../../../adapters/rules/rules.ts";
import { type LogEvent, serve, type TlsFiles } from "../../../adapters/service/service.ts";
import { runtime } from "../../support/runtime.ts";
import { readText } from "../../support/tree.ts";
import { rawGrpc } from "./support/raw_grpc.ts";
import { SHOP, until, withService } from "./support/running.ts";

interface Pair {
  readonly cert: string;
  readonly key: string;
}

// The authority signed `first`, `second`, `client` and `expired`; `stranger` and `weak`, of 512 bits,
// signed themselves.
const pairs: Readonly<Record<string, Pair>> = JSON.parse(
  readText("tests/adapters/service/support/certificates.json"),
);
const ca = pairs["ca"]!.cert;

const folder = mkdtempSync(join(tmpdir(), "tidegate-tls-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Files of their own, with a pair in them. */
function filesOf(name: string, { cert, key } = pairs["first"]!): Required<TlsFiles> {
  const files = {
    cert: join(folder, `${name}.pem`),
    key: join(folder, `${name}.key`),
    ca: join(folder, `${name}.ca`),
    pollEvery: 20,
  };
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key);
  writeFileSync(files.ca, ca);
  return files;
}

/** A connection with this certificate; `undefined` if the server would not have it. */
function dial(port: number, pair?: Pair, protocol = "http/1.1"): Promise<TLSSocket | undefined> {
  const options = { ca, servername: "localhost", ALPNProtocols: [protocol], ...pair };
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", ...options }, () => resolve(socket));
    socket.on("error", () => resolve(undefined));
    socket.on("close", () => resolve(undefined));
  });
}

/** The answer to a request on a connection; nothing if it ends without one. */
function ask(socket: TLSSocket | undefined): Promise<string> {
  if (socket === undefined) return Promise.resolve("");
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (data) => {
      text += String(data);
      if (text.endsWith("ok\n")) resolve(text.slice(0, 12));
    });
    socket.on("error", () => resolve(text));
    socket.on("close", () => resolve(text));
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  });
}

/** The name in the certificate of the server on this port. */
async function serverOf(port: number, protocol?: string): Promise<string | undefined> {
  const socket = await dial(port, pairs["client"], protocol);
  const name = socket?.getPeerCertificate().subject.CN;
  socket?.destroy();
  return name?.toString();
}

/** gRPC's health, asked with this certificate: the message, or nothing. */
async function health(port: number, pair?: Pair): Promise<string> {
  const options = { ca, servername: "localhost", ...pair };
  const url = `https://127.0.0.1:${port}`;
  const { bytes } = await rawGrpc(url, "/grpc.health.v1.Health/Check", [], options);
  return bytes.join(" ");
}

const SERVING = "0 0 0 0 2 8 1";

/** Deno serves no gRPC. */
const withGrpc = runtime() === "deno" ? {} : { grpcPort: 0 };

test("HTTP and gRPC are served to clients with a certificate of the authority alone", async () => {
  const tls = filesOf("mutual");
  await withService(async (service) => {
    const { url, port, grpcPort } = service;
    assert.match(url, /^https:/);
    assert.equal(await ask(await dial(port, pairs["client"])), "HTTP/1.1 200");
    if (grpcPort !== undefined) assert.equal(await health(grpcPort, pairs["client"]), SERVING);
    for (const name of ["none", "expired", "stranger"]) {
      assert.equal(await ask(await dial(port, pairs[name])), "", name);
      if (grpcPort !== undefined) assert.equal(await health(grpcPort, pairs[name]), "", name);
    }
    for (const plain of ["GET /healthz HTTP/1.0\r\n\r\n", "\x16\x03\x01\xff\xffnonsense", ""]) {
      for (const each of grpcPort === undefined ? [port] : [port, grpcPort]) {
        const socket = connectPlain({ port: each, host: "127.0.0.1" });
        let text = "";
        socket.on("data", (data) => text += String(data));
        socket.on("error", () => {});
        socket.write(plain);
        // A silent connection ends with the service, and does not hold it up.
        if (plain === "") continue;
        await new Promise((resolve) => socket.on("close", resolve));
        assert.doesNotMatch(text, /200/);
      }
    }
    assert.equal(await ask(await dial(port, pairs["client"])), "HTTP/1.1 200");
  }, { tls, ...withGrpc });
});

test("a renewed certificate is that of new connections, on 2 threads; a wrong one leaves the old in place", async () => {
  const tls = filesOf("renewed");
  const events: LogEvent[] = [];
  const log = (event: LogEvent) => void events.push(event);
  await withService(async (service) => {
    const { port, grpcPort } = service;
    // Where there is no gRPC, HTTP answers for both.
    const names = async () => [
      await serverOf(port),
      await serverOf(grpcPort ?? port, grpcPort === undefined ? undefined : "h2"),
    ];
    const refused = (what: RegExp) =>
      until(() =>
        events.some(({ event, reason }) => event === "tls-refused" && what.test(String(reason)))
      );
    const kept = await dial(port, pairs["client"]);
    assert.equal(await ask(kept), "HTTP/1.1 200");
    assert.deepEqual(await names(), ["first", "first"]);

    writeFileSync(tls.cert, pairs["second"]!.cert);
    await refused(/\.key must be the key of /);
    writeFileSync(tls.cert, pairs["first"]!.cert.slice(0, 200));
    await refused(/must hold a certificate in PEM/);
    writeFileSync(tls.cert, pairs["expired"]!.cert);
    writeFileSync(tls.key, pairs["expired"]!.key);
    await refused(/must not have expired: it was valid until 2021/);
    if (runtime() !== "bun") {
      writeFileSync(tls.cert, pairs["weak"]!.cert);
      writeFileSync(tls.key, pairs["weak"]!.key);
      await refused(/must hold a certificate that TLS accepts: .*key too small/);
    }
    rmSync(tls.cert);
    assert.equal(await service.reload(), false);
    assert.deepEqual(await names(), ["first", "first"]);

    writeFileSync(tls.cert, pairs["second"]!.cert);
    writeFileSync(tls.key, pairs["second"]!.key);
    if (runtime() === "bun") await refused(/restart the service/);
    const renewed = runtime() === "bun" ? "first,second" : "second,second";
    await until(async () => String(await names()) === renewed);
    assert.equal(await ask(kept), "HTTP/1.1 200", "who is there stays");
    kept?.destroy();
    assert.equal(await service.reload(), true);
    if (grpcPort !== undefined) {
      assert.equal(await health(grpcPort, pairs["client"]), SERVING);
    }
  }, { tls, ...withGrpc, threads: 2, log });
});

test("a service does not start with files that cannot be used", async () => {
  const start = (tls: TlsFiles) => serve({ rules: objectSource(SHOP), port: 0, tls });
  const files = filesOf("start");
  const weak: [TlsFiles, RegExp] = [
    filesOf("weak", pairs["weak"]),
    /weak\.pem .*must hold a certificate that TLS accepts/,
  ];
  const wrong: readonly [files: TlsFiles, message: RegExp][] = [
    [{ ...files, cert: join(folder, "nothing") }, /ENOENT/],
    [{ ...files, cert: files.key }, /must hold a certificate in PEM/],
    [{ ...files, key: files.cert }, /must hold a private key that has no password in PEM/],
    [filesOf("expired", pairs["expired"]), /must not have expired/],
    ...(runtime() === "bun" ? [] : [weak]),
    [{ ...files, key: filesOf("other", pairs["second"]).key }, /must be the key of/],
    [{ cert: files.cert } as TlsFiles, /key must be the path of a file/],
    [{ ...files, crt: "a" } as TlsFiles, /crt/],
  ];
  for (const [tls, message] of wrong) await assert.rejects(start(tls), message);
});
