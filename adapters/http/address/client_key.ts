import { isPromise } from "../../../core/maybe_promise.ts";
import { checkFunction, checkOptions } from "../../../core/options/checks.ts";
import { addressKey, checkPrefixLength } from "./address_key.ts";
import { clientAddress, forwardedField } from "./client_address.ts";
import { CLIENT_KEY_OPTIONS, type ClientKeyOptions } from "../gate/rate_limit_options.ts";

/** How an adapter reads what the engine needs of a request. */
export interface RequestSource<Request, Info = undefined> {
  /** The address that the request came from; `undefined` if it is not known. */
  address(request: Request, info: Info): string | undefined;
  /** A header field; `null` or `undefined` if there is none. Its name is in lower case. */
  header(request: Request, name: string): string | null | undefined;
  /**
   * The address that the framework's own setting of trusted proxies finds. It counts unless
   * `trustedProxies` is given, or there is no such setting.
   */
  trustedAddress?(request: Request, info: Info): string | undefined;
  /** Aborted when the client goes away. */
  signal(request: Request, info: Info): AbortSignal | undefined;
  /** Whether the framework has found the address behind proxies, by a setting of its own. */
  trustsProxies?(request: Request, info: Info): boolean;
}

/** Requests that are looked at for a proxy: behind one, all have its field. */
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
 * `forwardedHeader` is no name of a field, or given without `trustedProxies`.
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

  function ofSocket(request: Request, info: Info): string | undefined {
    notice(request, info);
    const peer = textOf(address(request, info));
    return peer === undefined ? undefined : addressKey(peer, ipv6Prefix);
  }

  function behindProxies(request: Request, info: Info): string | undefined {
    const peer = textOf(address(request, info));
    if (peer === undefined) return undefined;
    const client = addressOf(peer, source.header(request, field));
    return client === undefined ? undefined : addressKey(client, ipv6Prefix);
  }

  return trustedProxies.length === 0 ? ofSocket : behindProxies;
}

/**
 * Logs a line once if a request comes through a proxy that nobody trusts: then all of its clients are
 * one. Whoever gives `trustedProxies`, be it none, or an address of their own, has decided.
 */
function forwardingNotice<Request, Info>(
  { trustedProxies, address }: ClientKeyOptions<Request, Info>,
  source: RequestSource<Request, Info>,
): (request: Request, info: Info) => void {
  let looks = trustedProxies === undefined && address === undefined ? LOOKS : 0;
  return function notice(request, info) {
    if (looks === 0) return;
    looks--;
    if (!source.header(request, "x-forwarded-for") || source.trustsProxies?.(request, info)) return;
    looks = 0;
    console.warn(
      "X-Forwarded-For is ignored, and clients are limited by the address of the socket, as no " +
        "proxy is trusted: name yours in trustedProxies, or give [] if there are none",
    );
  };
}

/** An address, if it is text. A promise is none, and what it rejects with must not end the process. */
function textOf(address: unknown): string | undefined {
  if (typeof address === "string") return address;
  if (isPromise(address)) Promise.resolve(address).catch(() => {});
  return undefined;
}
