/*
 * `tidegate explain`: shows which rules hold for descriptors, or for an HTTP request by the routes,
 * and the state of their counters.
 */

import { memoryStore } from "../../mod.ts";
import {
  type Descriptor,
  explainMatch,
  explainReplaced,
  explainVerdict,
  lintRequest,
  ruleEngine,
  type RuleRequest,
  type RuleSet,
} from "../rules/rules.ts";
import {
  type Command,
  defineCommand,
  integerOf,
  redisUrlOf,
  RULE_OPTIONS,
  TOKEN_OPTION,
  type Tools,
  usageError,
} from "./command_options.ts";
import { readAt } from "./rules_at.ts";

const OPTIONS = {
  ...RULE_OPTIONS,
  domain: { value: "NAME", text: "the domain, if the rules define several" },
  cost: { value: "1", text: "the cost of the call in units" },
  redis: { value: "URL", text: "use the counters in Redis" },
  service: { value: "URL", text: "ask a running service" },
  token: TOKEN_OPTION,
} as const;

/** The command `tidegate explain`. */
export const explainCommand: Command = defineCommand({
  name: "explain",
  operands: "RULES key=value... [+ key=value...]",
  summary: "show which rules match a descriptor, and what their limits say",
  about:
    "  + starts another descriptor of the same call. With routes, it may be an HTTP request:\n" +
    '  RULES "POST /login" [address=192.0.2.1] [header.name=value...]',
  options: OPTIONS,
  statuses: ["success", "the rules are not valid"],
  async run([path, ...words], values, tools) {
    if (path === undefined || words.length === 0) {
      const rule = "explain needs rules and a descriptor, such as explain rules.yaml user=42";
      throw usageError(rule);
    }
    const redis = redisUrlOf(values.redis, "--redis");
    const complaints: string[] = [];
    const complain = (text: string) => void complaints.push(text);
    const { rules } = await readAt(path, values, { complain });
    if (rules === undefined) {
      complaints.forEach(tools.complain);
      return 1;
    }
    const domain = domainOf(rules, values.domain);
    const target = TARGET_REGEXP.exec(words[0]!);
    const descriptors = target === null
      ? descriptorsOf(words)
      : descriptorsOfRequest(rules, domain, target, words.slice(1));
    tools.print(`domain ${domain}`);
    if (descriptors === undefined) {
      tools.print("refused, because this path can be read in too many ways");
      return 0;
    }
    if (descriptors.length === 0) {
      tools.print("allowed and not counted, because no route makes a descriptor of this request");
      return 0;
    }
    for (const { entries } of descriptors) {
      tools.print(`descriptor ${entries.map((entry) => entry.join("=")).join(" ")}`);
      explainMatch(rules.domains.get(domain)!, entries).forEach(tools.print);
    }
    const isMissed = lintRequest({ domain, descriptors }, rules).length > 0;
    if (target === null && isMissed && rules.routes.has(domain)) {
      tools.print('routes make descriptors of HTTP requests: to ask for one, write "GET /path"');
    }
    const request = { domain, descriptors, cost: integerOf(values.cost, "cost") ?? 1 };
    if (values.service === undefined) await explainCounters(rules, request, redis, tools);
    else {
      const answer = await askService(values.service, values.token, request);
      tools.print(`${values.service} answers: ${answer}`);
    }
    return 0;
  },
});

/** The state of the counters in Redis, or of keys that were never used, under these rules. */
async function explainCounters(
  rules: RuleSet,
  request: RuleRequest,
  redis: string | undefined,
  { print }: Tools,
): Promise<void> {
  const store = redis === undefined ? memoryStore({ perProcess: true }) : await openRedis(redis);
  try {
    if (redis === undefined) print("for unused keys:");
    // Its URL may hold a password.
    else print(`with the counters in Redis at ${new URL(redis).host}:`);
    const { domain, descriptors } = request;
    explainReplaced(rules.domains.get(domain)!, descriptors).forEach(print);
    const verdict = await ruleEngine({ rules, store }).peek(request);
    explainVerdict(verdict, descriptors).forEach(print);
  } finally {
    await store.close();
  }
}

async function openRedis(url: string) {
  // Loaded here, so that no other command waits for it.
  const { storeOnRedis } = await import("../service/open_store.ts");
  // A person can wait for longer than a request can.
  return await storeOnRedis({ url, deadline: 5_000 }, () => {});
}

async function askService(
  url: string,
  token: string | undefined,
  request: object,
): Promise<string> {
  const response = await fetch(new URL("/v1/peek", url), {
    method: "POST",
    headers: token === undefined ? {} : { "x-tidegate-token": token },
    body: JSON.stringify(request, (key, value) => key === "readingOf" ? undefined : value),
  });
  return await response.text();
}

function domainOf(rules: RuleSet, wanted: string | undefined): string {
  const known = [...rules.domains.keys()];
  const domain = wanted ?? (known.length === 1 ? known[0]! : "");
  if (rules.domains.has(domain)) return domain;
  throw usageError(`--domain must be one of ${known.join(", ")}`);
}

/** An HTTP request: its method and its target. */
const TARGET_REGEXP = /^([A-Z]+) (\/.*)$/;

/**
 * The descriptors that the routes make of a request. Its address is one that nobody has, unless a
 * word names another. `undefined` if its path can be read in too many ways.
 */
function descriptorsOfRequest(
  { routes }: RuleSet,
  domain: string,
  [, method, path]: RegExpExecArray,
  words: readonly string[],
): readonly Descriptor[] | undefined {
  const ofDomain = routes.get(domain);
  if (ofDomain === undefined) {
    throw usageError(`an HTTP request needs routes, which the domain ${domain} does not have`);
  }
  const facts = new Map(words.map(entryOf));
  for (const name of facts.keys()) {
    if (name === "address" || name.startsWith("header.")) continue;
    throw usageError(`an HTTP request has address=... and header.name=..., not ${name}`);
  }
  return ofDomain({
    method: method!,
    path: path!,
    address: facts.get("address") ?? "192.0.2.1",
    header: (name) => facts.get(`header.${name}`),
  });
}

function descriptorsOf(words: readonly string[]): Descriptor[] {
  const groups: [string, string][][] = [[]];
  for (const word of words) {
    if (word === "+") groups.push([]);
    else groups.at(-1)!.push(entryOf(word));
  }
  if (groups.some((entries) => entries.length === 0)) {
    throw usageError("a descriptor must not be empty");
  }
  return groups.map((entries) => ({ entries }));
}

function entryOf(word: string): [key: string, value: string] {
  const equals = word.indexOf("=");
  if (equals < 1) throw usageError(`a descriptor must consist of key=value pairs, not ${word}`);
  return [word.slice(0, equals), word.slice(equals + 1)];
}
