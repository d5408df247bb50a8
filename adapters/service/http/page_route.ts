/*
 * The page of the service, and its files. The page is limited by the rules like any other: one who
 * reloads it without end is a client, too. Its files and figures are not, so that a page that is
 * open goes on.
 */

import { readFile } from "node:fs/promises";

import type { CheckCall } from "./check_call.ts";
import type { IncomingCall } from "./incoming_call.ts";
import type { RequestAccess } from "./request_access.ts";
import type { ServiceAnswer } from "./service_answer.ts";

const FILES: ReadonlyMap<string, readonly [file: string, type: string]> = new Map([
  ["/", ["index.html", "text/html; charset=utf-8"]],
  ["/page.css", ["page.css", "text/css; charset=utf-8"]],
  ["/page.js", ["page.js", "text/javascript; charset=utf-8"]],
]);

const loaded = new Map<string, Uint8Array<ArrayBuffer>>();

/** Makes what answers `/`. Who may change nothing takes no units by it either. */
export function pageRoute(
  { onlyDomain, limit }: CheckCall,
  { isOwn }: RequestAccess,
): (call: IncomingCall) => Promise<ServiceAnswer> {
  return async function page(call) {
    const file = await pageFile("/")!;
    const domain = onlyDomain();
    if (domain === undefined || !isOwn(call)) return file;
    const verdict = await limit(domain, { call, method: "GET", path: "/" }, 429);
    if (verdict.status !== 200) return verdict;
    return { ...file, headers: { ...file.headers, ...verdict.headers } };
  };
}

/** The answer with a file of the page; `undefined` if there is none of this path. */
export function pageFile(path: string): Promise<ServiceAnswer> | undefined {
  const found = FILES.get(path);
  return found && answerWith(...found);
}

async function answerWith(file: string, type: string): Promise<ServiceAnswer> {
  const bytes = loaded.get(file) ?? await load(new URL(`./page/${file}`, import.meta.url));
  loaded.set(file, bytes);
  return {
    status: 200,
    body: bytes,
    headers: {
      "content-type": type,
      "cache-control": "no-cache",
      "content-security-policy":
        "default-src 'self'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  };
}

/** The files lie beside the code, which in Deno may be on a server. */
async function load(url: URL): Promise<Uint8Array<ArrayBuffer>> {
  return url.protocol === "file:"
    ? new Uint8Array(await readFile(url))
    : new Uint8Array(await (await fetch(url)).arrayBuffer());
}
