/*
 * The names under which logs write the time of a request and its client. Servers, proxies and cloud
 * providers each have their own; names are compared in any case of letters.
 */

/** Names of columns that hold the time, the likeliest first. */
export const TIME_NAMES: readonly string[] = [
  ...["time", "timestamp", "time_iso8601", "@timestamp", "ts", "datetime", "startutc"],
  ...["edgestarttimestamp", "start_time", "starttime", "started_at", "requesttimeepoch"],
  ...["requesttime", "msec", "time_local", "date", "date_time", "event_time", "eventtime"],
  ...["requested_at", "created_at", "createdat", "logged_at", "occurred_at", "timegenerated"],
];

/** Names of columns that hold nothing but addresses, or the hosts that they were looked up as. */
const ADDRESS_NAMES: readonly string[] = [
  ...["remote_addr", "client_ip", "clientip", "c-ip", "request.client_ip", "request.remote_ip"],
  // Traefik's ClientAddr is its ClientHost with a port.
  ...["clienthost", "client:port", "clientaddr", "req.remoteaddress", "httprequest.remoteip"],
  ...["httprequest.clientip", "x_forwarded_for", "downstream_remote_address", "client.ip"],
  ...["source.ip", "client.address", "source.address", "sourceipaddress", "remote_ip"],
  ...["proxy.clientip", "properties.clientip", "identity.sourceip", "http.sourceip"],
  ...["remoteaddress", "remote_address", "remote-addr", "remoteaddr", "remoteip", "clientaddress"],
  ...["client_address", "client_addr", "ip_address", "ipaddress", "source_ip", "src_ip"],
  ...["remote_host", "peer_addr", "proxy_protocol_addr", "http_x_forwarded_for"],
  ...["http_x_real_ip", "http_cf_connecting_ip", "http_true_client_ip", "x-forwarded-for"],
];

/** Whether a column has a name by which it holds addresses that proxies forwarded. */
export function isForwardedName(column: string): boolean {
  // A header field may be a list of its lines: `headers.X-Forwarded-For.0`.
  return /forwarded[_-]?for\)?(?:\.0)?$/i.test(column);
}

/** Names that may hold a name of any kind. */
const CLIENT_NAMES: readonly string[] = ["client", "ip", "key"];

/** The name that is the client's in some logs, and the server's in most. */
export const EITHER_NAME = "host";

/** Columns beside which `host` is the client, like in the Common Log Format. */
const BESIDE_CLIENT: readonly string[] = ["logname", "ident", "rfc931"];

/**
 * The columns that may hold the client, the likeliest first.
 *
 * @param columns The columns of the log.
 * @param isNested Whether they are paths, whose last names count too.
 */
export function clientColumns(columns: readonly string[], isNested: boolean): readonly string[] {
  const known = [...ADDRESS_NAMES, ...CLIENT_NAMES]
    .flatMap((name) => columns.find((column) => column.toLowerCase() === name) ?? [])
    // The address that the server saw comes first: others may be absent, or be the client's own.
    .sort((one, other) => Number(isForwardedName(one)) - Number(isForwardedName(other)));
  if (known.length > 0) return known;
  const nested = isNested
    ? ADDRESS_NAMES.flatMap((name) =>
      columns.find((column) => column.toLowerCase().endsWith(`.${name}`)) ?? []
    )
    : [];
  if (nested.length > 0) return nested;
  return columns.filter((column) => column.toLowerCase() === EITHER_NAME).slice(0, 1);
}

/** Whether a column has a name by which it holds addresses. */
export function isAddressName(column: string): boolean {
  const name = column.toLowerCase();
  return ADDRESS_NAMES.some((known) => name === known || name.endsWith(`.${known}`));
}

/** Whether a column has a name by which it may hold the client. */
export function isClientName(column: string): boolean {
  return isAddressName(column) || CLIENT_NAMES.includes(column.toLowerCase());
}

/** Whether the columns say that `host` is the client. */
export function hostIsClient(columns: readonly string[]): boolean {
  return columns.some((column) => BESIDE_CLIENT.includes(column.toLowerCase()));
}

/** The objects of a line that records a request, and the response that some servers add to it. */
const REQUEST_OBJECTS: readonly string[] = ["req", "request", "httpRequest"];
const RESPONSE_OBJECT = "res";

/**
 * The objects that each line of a request has; the others are of something else. An application logs
 * what it likes beside its requests; Fastify writes a request's beginning with `req`, and its end
 * with `res`; pino-http writes both at its end, and `req` on whatever is logged meanwhile.
 */
export function requestObjects(lines: readonly object[]): readonly string[] {
  const has = (line: object, name: string) => {
    const value = Object.hasOwn(line, name) ? (line as Record<string, unknown>)[name] : undefined;
    return typeof value === "object" && value !== null;
  };
  const request = REQUEST_OBJECTS.find((name) => lines.some((line) => has(line, name)));
  if (request === undefined) return [];
  const ends = lines.filter((line) => has(line, RESPONSE_OBJECT));
  const areWhole = ends.length > 0 && ends.every((line) => has(line, request));
  return areWhole ? [request, RESPONSE_OBJECT] : [request];
}
