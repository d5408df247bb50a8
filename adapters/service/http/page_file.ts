/*
 * The files of the service's page. Viewing the page takes no units.
 */

import { readFile } from "node:fs/promises";

import type { ServiceAnswer } from "./service_answer.ts";

const SCRIPT = "text/javascript; charset=utf-8";

/** The files of the page and their types, by their paths. */
export const PAGE_FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/page.css": ["page.css", "text/css; charset=utf-8"],
  "/page.js": ["page.js", SCRIPT],
  "/charts.js": ["charts.js", SCRIPT],
  "/elements.js": ["elements.js", SCRIPT],
  "/try_form.js": ["try_form.js", SCRIPT],
};

const loaded = new Map<string, Uint8Array<ArrayBuffer>>();

/** The answer with a file of the page. */
export async function pageFile(file: string, type: string): Promise<ServiceAnswer> {
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

/** The files are next to the code, which in Deno may be on another server. */
async function load(url: URL): Promise<Uint8Array<ArrayBuffer>> {
  return url.protocol === "file:"
    ? new Uint8Array(await readFile(url))
    : new Uint8Array(await (await fetch(url)).arrayBuffer());
}
