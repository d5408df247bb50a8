/*
 * The default key of a request, its client's address, for all adapters. It warns when requests
 * come through a proxy that is not trusted, because all clients behind it share one limit.
 */

import { isPromise } from "../../../core/maybe_promise.ts";
import { checkFunction, checkOptions } from "../../../core/options/checks.ts";
import { addressKey, checkedAddressKey, checkPrefixLength } from "./address_key.ts";
import { clientAddress, forwardedField } from "./client_address.ts";
import { CLIENT_KEY_OPTIONS, type ClientKeyOptions } from "../gate/rate_limit_options.ts";

/** How an adapter reads the parts of a request that the engine needs. */
export interface RequestSource<Request, Info = undefined> {
  /** The address that the request came from; `undefined` if it is not known. */
  address(request: Request, info: Info): string | undefined;
  /** A header field; `null` or `undefined` if there is none. Its name is in lower case. */
  header(request: Request, name: string): string | null | undefined;
  /**
   * The address that the framework's own setting of trusted proxies finds. It is used unless
   * `trustedProxies` is given, or the framework has no such setting.
   */
  trustedAddress?(request: Request, info: Info): string | undefined;
  /** Aborted when the client goes away. */
  signal(request: Request, info: Info): AbortSignal | undefined;
  /** The method; only rules need it. */
  method?(request: Request): string;
  /**
   * The target as the client sent it, with or without its query; then the target as it stands now, if
   * something has rewritten it. Only rules need it.
   */
  target?(request: Request): string | readonly string[];
  /** Whether the framework's routes match paths in any case; only rules need it. */
  ignoresCase?(request: Request): boolean;
  /** Whether the framework has found the address behind proxies, by a setting of its own. */
  trustsProxies?(request: Request, info: Info): boolean;
}

/**
 * How many requests are checked for a proxy's field. A few are enough, because behind a proxy all
 * requests have it.
 */
const LOOKS = 100;

const ACTION = "tell clients apart";

/** Makes the default `key` of an adapter. */
export function clientKeyOf<Request, Info>(
  options: ClientKeyOptions<Request, Info>,
  source: RequestSource<Request, Info>,
): (request: Request, info: Info) => string | undefined {
  checkOptions<ClientKeyOptions<unknown, unknown>>(ACTION, options, CLIENT_KEY_OPTIONS);
  return clientKeyReader(options, source);
}

/**
 * Makes the function that finds the key of a request's client, by its address; `undefined` if that
 * is not known.
 *
 * @throws {TypeError} If an entry of `trustedProxies` is neither an address nor a network, or
 * `forwardedHeader` is not the name of a field, or is given without `trustedProxies`.
 * @throws {RangeError} If `ipv6Prefix` is out of range.
 */
export function clientKeyReader<Request, Info>(
  options: ClientKeyOptions<Request, Info>,
  source: RequestSource<Request, Info>,
): (request: Request, info: Info) => string | undefined {
  const { trustedProxies = [], ipv6Prefix = 64 } = options;
  const ofFramework = options.trustedProxies === undefined ? source.trustedAddress : undefined;
  const address = options.address ?? ofFramework ?? source.address;
  checkPrefixLength(ACTION, ipv6Prefix);
  checkFunction(ACTION, "address", address);
  const field = forwardedField(options);
  const addressOf = clientAddress(options);
  const notice = forwardingNotice(options, source);
  const unnamed = unnamedClient(options, field);

  function ofSocket(request: Request, info: Info): string | undefined {
    if (notice.looks > 0) notice.look(request, info);
    const given = address(request, info);
    const peer = typeof given === "string" ? given : textOf(given);
    return peer === undefined ? undefined : checkedAddressKey(peer, ipv6Prefix);
  }

  function behindProxies(request: Request, info: Info): string | undefined {
    const peer = textOf(address(request, info));
    if (peer === undefined) return undefined;
    const text = source.header(request, field);
    const client = addressOf(peer, text) ?? (text ? undefined : unnamed(peer));
    return client === undefined ? undefined : checkedAddressKey(client, ipv6Prefix);
  }

  return trustedProxies.length === 0 ? ofSocket : behindProxies;
}

/**
 * Logs a line once if a request comes through a proxy that is not trusted: call `look` with
 * requests while `looks` are left. It logs nothing if the options have `trustedProxies`, even an
 * empty list, or `address`: the caller has made a choice.
 */
function forwardingNotice<Request, Info>(
  { trustedProxies, address }: ClientKeyOptions<Request, Info>,
  source: RequestSource<Request, Info>,
): { looks: number; readonly look: (request: Request, info: Info) => void } {
  const notice = { looks: trustedProxies === undefined && address === undefined ? LOOKS : 0, look };

  function look(request: Request, info: Info): void {
    notice.looks--;
    if (!source.header(request, "x-forwarded-for") || source.trustsProxies?.(request, info)) return;
    notice.looks = 0;
    console.warn(
      "X-Forwarded-For is ignored, and clients are limited by the address of the socket, because " +
        "no proxy is trusted: name yours in trustedProxies, or give [] if there are none (docs/errors.md#x-forwarded-for-is-ignored)",
    );
  }
  return notice;
}

/**
 * Makes the function for clients that a trusted proxy does not name at all. Their address is the
 * proxy's, because probes come from its network without the field. The function logs a line once,
 * because all clients of a proxy that never names them share one limit. If the options say how to
 * treat unknown addresses, the address is unknown instead.
 */
function unnamedClient(
  options: object,
  field: string,
): (peer: string) => string | undefined {
  const { unknownAddress } = options as { readonly unknownAddress?: unknown };
  let said = false;
  return function unnamed(peer) {
    if (unknownAddress !== undefined || addressKey(peer, 64) === undefined) return undefined;
    if (!said) {
      console.warn(
        `A request from ${peer}, which is trusted, has no ${field}, and is limited by that address: ` +
          "a probe, or a proxy that does not name its clients, who then share one limit (docs/errors.md#a-trusted-proxy-names-no-client)",
      );
    }
    said = true;
    return peer;
  };
}

/** An address, if it is text. A promise is not, and its rejection must not end the process. */
function textOf(address: unknown): string | undefined {
  if (typeof address === "string") return address;
  if (isPromise(address)) Promise.resolve(address).catch(() => {});
  return undefined;
}
