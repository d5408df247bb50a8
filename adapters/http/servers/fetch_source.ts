import type { RequestSource } from "../address/client_key.ts";

/** How the address of a client is asked of Bun's server, and found in what Deno hands over. */
interface ServerInfo {
  requestIP?(request: Request): { readonly address: string } | null;
  readonly remoteAddr?: { readonly hostname?: string };
}

/** How requests in the style of fetch are read. */
export const fetchSource: RequestSource<Request, unknown> = {
  address(request, info) {
    const server = info as ServerInfo | null | undefined;
    if (typeof server?.requestIP === "function") return server.requestIP(request)?.address;
    return server?.remoteAddr?.hostname;
  },
  header: (request, name) => request.headers.get(name),
  signal: (request) => request.signal,
};
