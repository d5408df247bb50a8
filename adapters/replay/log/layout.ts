/*
 * The forms that logs come in, as data: patterns of nginx's words, or the text between fields. A
 * layout is a form applied to one log: where in a line the time, the client and the cost stand.
 */

import { REQUEST_NAMES, type RequestPart } from "./request_fields.ts";
import { columnName, type Pattern } from "./read_pattern.ts";
import { clientColumns, isAddressName, isClientName, TIME_NAMES } from "./column_names.ts";

/**
 * The forms of log.
 *
 * | form | lines |
 * |---|---|
 * | `"common"` | the Common Log Format of web servers, and the combined one, which adds to it |
 * | `"vhost"` | the same after the name of the virtual host, as Apache's `vhost_combined` |
 * | `"envoy"` | Envoy's default text |
 * | `"alb"` | those of AWS's application load balancer |
 * | `"s3"` | the server access log of AWS S3 |
 * | `"haproxy"` | HAProxy's `option httplog` |
 * | `"squid"` | Squid's own |
 * | `"json"` | an object a line, as of nginx, Caddy, Traefik and Envoy |
 * | `"w3c"`, `"cloudfront"` | the W3C's extended form, of IIS and with tabs of AWS CloudFront |
 * | `"tsv"`, `"csv"` | columns named by the first line; quotes as in RFC 4180 |
 */
export type LogFormat =
  | "vhost"
  | "common"
  | "envoy"
  | "alb"
  | "haproxy"
  | "s3"
  | "squid"
  | "json"
  | "w3c"
  | "cloudfront"
  | "tsv"
  | "csv";

/** A form of log. */
export interface Form {
  /**
   * The fields and the text between them; several where lines of one form differ. Forms without
   * patterns name their fields in the log: by a header, or `#Fields`.
   */
  readonly patterns?: readonly string[];
  /** The text between fields that the log names; `undefined` for objects. */
  readonly separator?: string;
  /** Whether a field that holds the separator is in quotes, with `""` for a quote inside. */
  readonly hasQuotes?: boolean;
  /** Whether a line `#Fields:` names the fields. */
  readonly directives?: boolean;
}

const COMMON = '$remote_addr $ident $user [$time] "$request" $status $bytes "$referer" "$agent" ' +
  '"$x_forwarded_for"';
const HAPROXY = "${client:port} [$time] $frontend $backend/$server $timers $status $bytes " +
  '$request_cookie $response_cookie $termination $connections $queues "$request"';

/** The forms by name, in the order in which they are tried. */
export const FORMS: Readonly<Record<LogFormat, Form>> = {
  // The virtual host comes first: a common line has no client in its place.
  vhost: { patterns: [`$vhost ${COMMON}`] },
  common: { patterns: [COMMON, '$remote_addr [$time] "$request" $status $bytes'] },
  envoy: {
    patterns: [
      '[$time] "$request" $status $response_flags $bytes_received $bytes_sent $duration ' +
      '$upstream_service_time "$x_forwarded_for" "$agent" "$request_id" "$authority" ' +
      '"$upstream_host"',
    ],
  },
  alb: {
    patterns: [
      "$type $time $elb ${client:port} ${target:port} $request_processing_time " +
      "$target_processing_time $response_processing_time $status $target_status_code " +
      '$received_bytes $sent_bytes "$request" "$user_agent" $ssl_cipher $ssl_protocol ' +
      '$target_group_arn "$trace_id" "$domain_name"',
    ],
  },
  // S3 comes after it, because a hyphen may stand in place of S3's request.
  haproxy: { patterns: [HAPROXY] },
  s3: {
    patterns: [
      "$bucket_owner $bucket [$time] $remote_ip $requester $request_id $operation $object " +
      '"$request" $status $error_code $bytes $object_size $total_time $turn_around_time ' +
      '"$referer" "$agent"',
    ],
  },
  squid: {
    patterns: [
      "$time $elapsed $remote_host $result/$status $bytes $method $url $user $peer $type",
    ],
  },
  json: {},
  w3c: { separator: " ", directives: true },
  cloudfront: { separator: "\t", directives: true },
  tsv: { separator: "\t" },
  csv: { separator: ",", hasQuotes: true },
};

/** The names of the forms. */
export const FORMAT_NAMES: readonly LogFormat[] = Object.keys(FORMS) as LogFormat[];

/** The part of a field that is meant: a part of a request, or an address without its port. */
export type FieldPart = "whole" | "method" | "url" | "address";

/** Where a value stands in a line: at a place, or of objects under a path. */
export interface Field {
  readonly name: string;
  readonly index: number;
  readonly part: FieldPart;
}

/** A condition as the caller writes it, read. */
export interface Condition {
  readonly text: string;
  /** A column, or `path`, `method` or `status`, whatever the log calls them. */
  readonly name: string;
  /** The text that the value must be; `*` stands for any text. */
  readonly pattern: string;
  /** Whether the value must be another one. */
  readonly isNot: boolean;
}

/** A condition whose place in a line is known. */
export interface PlacedCondition extends Condition {
  readonly field: Field;
}

/** The format of a log, a form or the caller's own pattern, and the columns that the log has. */
export interface Shape {
  readonly format: LogFormat | "pattern";
  readonly columns: readonly string[];
  /** The text before each column, and after the last one; none for objects. */
  readonly literals: readonly string[];
  readonly hasQuotes: boolean;
  readonly directives: boolean;
  /** The bytes of the line that names the columns. */
  readonly header: string;
  /** The objects that a line of a request has; without any each line is of one. */
  readonly requires: readonly string[];
}

/** A form applied to a log. */
export interface Layout extends Shape {
  /** One field, or a date and a time of day. For objects, the first field that is present. */
  readonly time: readonly Field[];
  /**
   * For objects, the first field that is present. Without a field all requests belong to one
   * client.
   */
  readonly key: readonly Field[];
  /** Columns of forwarded addresses, which name the client where `key` names a proxy. */
  readonly forwarded: readonly Field[];
  /** Whether clients are found among forwarded addresses. */
  readonly hasLists: boolean;
  /** The site's own proxies, beside private addresses. */
  readonly proxies: readonly string[];
  /** Their sum is the cost; without any it is 1. */
  readonly cost: readonly Field[];
  /** Which lines are read; without any all of them. */
  readonly where: readonly PlacedCondition[];
  /** The parts of the request that marks are made of; `undefined` if no marks are made. */
  readonly request: Readonly<Record<RequestPart, Field | undefined>> | undefined;
  /** Bits of an IPv6 address that distinguish clients; `undefined` if keys are no addresses. */
  readonly network: number | undefined;
  /** Whether times are written in whole seconds. */
  readonly isCoarse: boolean;
  /** The longest line in bytes. */
  readonly maxLine: number;
}

/** Facts about a log that the caller gives; others are found. */
export interface LayoutOptions {
  /** The log's name in errors. */
  readonly name: string;
  readonly format: LogFormat | undefined;
  readonly pattern: Pattern | undefined;
  readonly time: string | undefined;
  /** A column, or `ip/64`. */
  readonly key: string | undefined;
  /** The column of the client's address. */
  readonly host: string | undefined;
  readonly proxies: readonly string[];
  readonly cost: readonly string[];
  readonly where: readonly Condition[];
  readonly marks: boolean;
  readonly maxLine: number;
}

/** The options of whoever names nothing but the time. */
export const NOTHING_NAMED: Pick<LayoutOptions, "key" | "host" | "cost" | "where" | "marks"> = {
  ...{ key: undefined, host: undefined, cost: [], where: [], marks: false },
};

/** Where a log has its values; `undefined` if no column holds the time. */
export function layoutOf(shape: Shape, options: LayoutOptions): Layout | undefined {
  const { format, columns } = shape;
  const isObject = format === "json";
  const found = (names: readonly string[]) => names.flatMap((name) => fieldOf(columns, name) ?? []);
  const time = found(options.time === undefined ? TIME_NAMES : [options.time]);
  const [date, clock] = [fieldOf(columns, "date"), fieldOf(columns, "time")];
  const isPair = !isObject && options.time === undefined && date !== undefined &&
    clock !== undefined && clock.index === date.index + 1;
  if (time.length === 0) return undefined;
  const bits = networkOf(options.key);
  const own = bits === undefined ? options.key ?? options.host : options.host;
  const key = found(own === undefined ? clientColumns(columns, isObject) : [own]);
  const isAddress = options.key === undefined || isClientName(options.key);
  return {
    ...shape,
    time: isPair ? [date, clock] : isObject ? time : time.slice(0, 1),
    key: isObject ? key : key.slice(0, 1),
    forwarded: [],
    hasLists: false,
    proxies: options.proxies,
    cost: found(options.cost),
    where: options.where.flatMap((condition) => {
      const field = requestField(columns, condition.name);
      return field === undefined ? [] : [{ ...condition, field }];
    }),
    request: options.marks
      ? {
        method: requestField(columns, "method"),
        path: requestField(columns, "path"),
        status: requestField(columns, "status"),
      }
      : undefined,
    network: bits ?? (isAddress ? IPV6_PREFIX : undefined),
    isCoarse: false,
    maxLine: options.maxLine,
  };
}

/** Bits of an IPv6 address that distinguish clients, unless others are asked for: as over HTTP. */
export const IPV6_PREFIX = 64;

/** The bits of a key such as `ip/64`; `undefined` if it is a column's name. */
export function networkOf(key: string | undefined): number | undefined {
  const bits = /^ip\/(\d{1,3})$/.exec(key ?? "")?.[1];
  return bits === undefined ? undefined : Number(bits);
}

/** The column with this name, or the column of a part of a request under one of its usual names. */
function requestField(columns: readonly string[], name: string): Field | undefined {
  const names = Object.hasOwn(REQUEST_NAMES, name) ? REQUEST_NAMES[name as RequestPart] : [];
  for (const each of [...names, name]) {
    const field = fieldOf(columns, each);
    if (field !== undefined) return field;
  }
  return undefined;
}

/** The column of a name, or the part of a request that is called so. */
export function fieldOf(columns: readonly string[], name: string): Field | undefined {
  const wanted = name.toLowerCase();
  const index = columns.findIndex((column) => columnName(column).toLowerCase() === wanted);
  if (index !== -1) {
    const part = isAddressName(wanted) ? "address" : "whole";
    return { name: columnName(columns[index]!), index, part };
  }
  const request = columns.indexOf("request");
  const isPart = wanted === "method" || wanted === "url";
  return isPart && request !== -1 ? { name: wanted, index: request, part: wanted } : undefined;
}
