/*
 * Sends a request unchanged, which no client library does: libraries would mend a forgery.
 */

import { connect, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";

import type { ForgedRequest } from "./forged_requests.ts";

/** The answer: the status, and a part of the body; `undefined` if none came. */
export type ProbeAnswer = { readonly status: number; readonly body: string } | undefined;

const TIMEOUT = 10_000;
/** The most bytes of an answer that are read. */
const MOST_BYTES = 65_536;

/**
 * Sends a request to a URL's server, over a connection of its own.
 *
 * @param from The address to send it from.
 */
export function sendRequest(
  url: URL,
  request: ForgedRequest,
  from?: string | undefined,
): Promise<ProbeAnswer> {
  const { method, target, lines, host = url.host, version = "1.1" } = request;
  const head = [
    `${method} ${target} HTTP/${version}`,
    ...(host === null ? [] : [`Host: ${host}`]),
    "Connection: close",
    ...lines,
  ];
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const socket = open(url, from);
    const end = () => {
      socket.destroy();
      resolve(answerOf(Buffer.concat(chunks).toString("latin1")));
    };
    socket.setTimeout(TIMEOUT, end);
    socket.on("data", (chunk: Uint8Array) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MOST_BYTES) end();
    });
    socket.on("error", end);
    socket.on("close", end);
    socket.write(`${head.join("\r\n")}\r\n\r\n`, "latin1");
  });
}

function open({ protocol, hostname, port }: URL, localAddress: string | undefined): Socket {
  const host = hostname.replace(/^\[|\]$/g, "");
  const isSecure = protocol === "https:";
  const socket = connect({ host, port: Number(port || (isSecure ? 443 : 80)), localAddress });
  if (!isSecure) return socket;
  // Certificates are not checked, because the question is only which requests pass. An IP address
  // is not a server name.
  const servername = /^[\d.]+$|:/.test(host) ? "" : host;
  const secure = connectSecure({ socket, servername, rejectUnauthorized: false });
  socket.on("error", (error) => secure.destroy(error));
  return secure;
}

function answerOf(text: string): ProbeAnswer {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1];
  if (status === undefined) return undefined;
  return { status: Number(status), body: text.slice(text.indexOf("\r\n\r\n") + 4) };
}
