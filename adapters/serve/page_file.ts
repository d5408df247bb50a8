import { readFileSync } from "node:fs";

const FILES: ReadonlyMap<string, readonly [file: string, type: string]> = new Map([
  ["/", ["index.html", "text/html; charset=utf-8"]],
  ["/page.css", ["page.css", "text/css; charset=utf-8"]],
  ["/page.js", ["page.js", "text/javascript; charset=utf-8"]],
]);

const loaded = new Map<string, Uint8Array<ArrayBuffer>>();

/** The response with a file of the page; `undefined` if there is none of this path. */
export function pageFile(path: string): Response | undefined {
  const found = FILES.get(path);
  if (found === undefined) return undefined;
  const [file, type] = found;
  let bytes = loaded.get(file);
  if (bytes === undefined) {
    bytes = new Uint8Array(readFileSync(new URL(`./page/${file}`, import.meta.url)));
    loaded.set(file, bytes);
  }
  return new Response(bytes, {
    headers: {
      "content-type": type,
      "cache-control": "no-cache",
      "content-security-policy":
        "default-src 'self'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  });
}
