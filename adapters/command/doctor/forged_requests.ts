/*
 * Requests as clients forge them to slip past a limit: fields that a server may believe, fields
 * that are repeated or missing, other spellings of the path, long values.
 */

/** A request as it is sent. */
export interface ForgedRequest {
  /** The forgery, in words. */
  readonly what: string;
  readonly method: string;
  /** The target of the request line. */
  readonly target: string;
  /** Header lines other than Host. */
  readonly lines: readonly string[];
  /** The field Host; default is the URL's host, `null` for none. */
  readonly host?: string | null;
  readonly version?: "1.0" | "1.1";
}

const ADDRESS_FIELDS = [
  ...["X-Forwarded-For", "X-Real-IP", "X-Client-IP", "CF-Connecting-IP", "True-Client-IP"],
  ...["X-Cluster-Client-IP", "Fastly-Client-IP", "X-Original-Forwarded-For"],
];
const OTHER_FIELDS: readonly (readonly [name: string, value: string])[] = [
  ["X-Original-URI", "/elsewhere"],
  ["X-Original-URL", "/elsewhere"],
  ["X-Rewrite-URL", "/elsewhere"],
  ["X-Forwarded-Uri", "/elsewhere"],
  ["X-Original-Method", "OPTIONS"],
  ["X-Forwarded-Method", "OPTIONS"],
  ["X-HTTP-Method-Override", "OPTIONS"],
  ["X-User", "somebody-else"],
  ["X-Api-Key", "made-up"],
  ["Authorization", "Bearer made-up"],
  ["Cookie", "session=made-up"],
  ["User-Agent", "made-up"],
  ["X-Tidegate-Token", "made-up"],
];

/** The plain request, which all others are variations of. */
export function plainRequest({ pathname, search }: URL): ForgedRequest {
  return { what: "nothing", method: "GET", target: pathname + search, lines: [] };
}

/** The forged requests for a URL, made with addresses for documentation. */
export function forgedRequests(url: URL): readonly ForgedRequest[] {
  const plain = plainRequest(url);
  const forged = (what: string, change: Partial<ForgedRequest>): ForgedRequest => {
    return { ...plain, what, ...change };
  };
  const field = (name: string, value: string) =>
    forged(`the field ${name}`, { lines: [`${name}: ${value}`] });
  const more = `${plain.target}${url.search === "" ? "?" : "&"}`;
  const list = Array.from({ length: 40 }, (_, index) => `203.0.113.${index + 1}`).join(", ");
  return [
    ...ADDRESS_FIELDS.map((name) => field(name, "198.51.100.7")),
    field("Forwarded", "for=198.51.100.7"),
    forged("many addresses in X-Forwarded-For", { lines: [`X-Forwarded-For: ${list}`] }),
    forged("two fields X-Forwarded-For", {
      lines: ["X-Forwarded-For: 198.51.100.7", "X-Forwarded-For: 203.0.113.7"],
    }),
    forged("an empty X-Forwarded-For", { lines: ["X-Forwarded-For:"] }),
    forged("X-Forwarded-For: 127.0.0.1", { lines: ["X-Forwarded-For: 127.0.0.1"] }),
    ...OTHER_FIELDS.map(([name, value]) => field(name, value)),
    forged("another Host", { host: "elsewhere.example" }),
    forged("no Host, by HTTP/1.0", { host: null, version: "1.0" }),
    forged("the method HEAD", { method: "HEAD" }),
    forged("a query", { target: `${more}a=b` }),
    forged("a query of 1,500 characters", { target: `${more}a=${"a".repeat(1_500)}` }),
    forged("a field of 3,000 characters", { lines: [`X-Long: ${"a".repeat(3_000)}`] }),
    ...spellings(url.pathname).map((path) =>
      forged(`the spelling ${path}`, { target: path + url.search })
    ),
  ];
}

/** Other spellings that some servers read as the path. */
function spellings(path: string): readonly string[] {
  const letter = path.search(/[a-z]/i);
  const coded = letter === -1 ? [] : [
    `${path.slice(0, letter)}%${path.charCodeAt(letter).toString(16)}${path.slice(letter + 1)}`,
    path.toUpperCase() === path ? path.toLowerCase() : path.toUpperCase(),
  ];
  const bare = path.replace(/\/+$/, "");
  const all = [
    ...coded,
    ...[`/${path}`, `/.${path}`, `/a/..${path}`, `/a/%2e%2e${path}`, `/a%2f..${path}`],
    ...[`/;a${path}`, `/a\\..${path}`],
    ...(bare === "" ? [] : [`${bare}/`, `${bare}//`, `${bare}/.`, `${bare};a=b`, `${bare};`]),
    ...(bare === "" ? [] : [`${bare}%20`, `${bare}%2f`, `${bare}%00`, `${bare}#a`]),
  ];
  return [...new Set(all)].filter((each) => each !== path);
}
