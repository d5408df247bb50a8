/*
 * Which request a proxy asks about: it tells so in header fields, of one of two families.
 *
 *   from=nginx       X-Original-URI, X-Original-Method: what its configuration sets
 *   from=forwarded   X-Forwarded-Uri, X-Forwarded-Method: Traefik and Caddy
 *
 * A proxy passes on what its client sent of the other family. So only one is ever believed: that
 * which is named, or the only one that is there. Where both are there and none is named, nobody can
 * say whose word which is.
 *
 * A path is brought to one form, as servers behind proxies do: percent codes decoded, slashes in a
 * row made one, dot segments resolved. Otherwise `/%6Cogin` would pass the rule of `/login`.
 */

/** The method, in capitals, and the path of a request that a proxy asks about. */
export interface ForwardedRequest {
  readonly method: string;
  readonly path: string;
}

/** What is read of a proxy's own request. */
export type RequestHead = Pick<Request, "method" | "headers">;

const FAMILIES = {
  nginx: { uri: "x-original-uri", method: "x-original-method" },
  forwarded: { uri: "x-forwarded-uri", method: "x-forwarded-method" },
} as const;

type Family = keyof typeof FAMILIES;

/** The names of the families. */
export const HEADER_FAMILIES: readonly string[] = Object.keys(FAMILIES);

/**
 * The request that a proxy asks about; what is wrong, if it cannot be told.
 *
 * @param from The family to believe; `null` if it is not named.
 */
export function forwardedRequest(
  { headers, method }: RequestHead,
  from: string | null,
): ForwardedRequest | string {
  if (from !== null && !HEADER_FAMILIES.includes(from)) {
    return `from must be one of ${HEADER_FAMILIES.join(", ")}`;
  }
  const present = (Object.keys(FAMILIES) as Family[]).filter((family) =>
    headers.has(FAMILIES[family].uri) || headers.has(FAMILIES[family].method)
  );
  if (from === null && present.length > 1) {
    return "both X-Original-* and X-Forwarded-* tell a request: name the one to believe in the " +
      "query, /check?from=nginx or /check?from=forwarded";
  }
  const fields = FAMILIES[(from ?? present[0] ?? "nginx") as Family];
  const path = canonicalPath(headers.get(fields.uri) ?? "/");
  if (path === undefined) return `${fields.uri} must be the path of a request`;
  return { method: (headers.get(fields.method) ?? method).toUpperCase(), path };
}

/** A path in its one form, without a query; `undefined` if it is none. */
export function canonicalPath(uri: string): string | undefined {
  const [raw = ""] = uri.split(/[?#]/, 1);
  if (!raw.startsWith("/")) return undefined;
  let decoded: string;
  try {
    decoded = decodeURIComponent(raw);
  } catch {
    return undefined;
  }
  const segments: string[] = [];
  const parts = decoded.split(/[/\\]+/);
  for (const part of parts.slice(1)) {
    if (part === "..") segments.pop();
    else if (part !== ".") segments.push(part);
  }
  const last = parts.at(-1)!;
  if (last === "." || last === "..") segments.push("");
  // A percent code that was decoded once is text: nobody after this may take it for a dot.
  return `/${segments.join("/")}`.replaceAll(/%(?=2e)/gi, "%25");
}
