/*
 * The advised limits as lines to paste: TypeScript, and a rule file.
 *
 * Paths and names of columns come from the log, so only those of plain characters are written.
 */

import { periodText } from "../../../core/application_support.ts";
import type { Advice, PartAdvice } from "../advise/advice.ts";
import type { AdvisedLimit } from "../advise/choose_limits.ts";
import { EITHER_NAME, isAddressName } from "../log/column_names.ts";

const PLAIN_PATH = /^\/[\w./-]{0,80}$/;
const PLAIN_NAME = /^[A-Za-z][\w-]{0,40}$/;
const MAX_PATHS = 5;

/** The limits as an expression. */
export function expressionOf(limits: readonly AdvisedLimit[]): string {
  const calls = limits.map(({ limit, period, burst }) =>
    `gcra({ limit: ${limit}, period: "${periodText(period)}", burst: ${burst} })`
  );
  return calls.length === 1 ? calls[0]! : `all(\n  ${calls.join(",\n  ")},\n)`;
}

const NAMES: Readonly<Record<PartAdvice["part"], readonly [name: string, comment: string]>> = {
  all: ["perClient", "All requests of a client."],
  writes: ["writes", "Those that write."],
  logins: ["logins", "Those that log in."],
};

/** A module that makes the advised limiters. */
export function typescriptOf({ parts }: Advice): readonly string[] {
  const isPair = parts.some(({ limits }) => limits.length > 1);
  return [
    `import { ${isPair ? "all, " : ""}gcra, limiter } from "tidegate";`,
    "",
    ...parts.flatMap(({ part, limits }) => {
      const [name, comment] = NAMES[part];
      return [`// ${comment}`, ...`const ${name} = limiter(${expressionOf(limits)});`.split("\n")];
    }),
  ];
}

/**
 * A rule file with the advised limits; with routes, if clients are addresses. It is JSON, which needs
 * no package to be read.
 */
export function rulesOf(advice: Advice): readonly string[] {
  const [column = "address"] = advice.log?.keys ?? [];
  const isAddress = advice.log === undefined || column === EITHER_NAME || isAddressName(column);
  const key = isAddress ? "address" : PLAIN_NAME.test(column) ? column : "client";
  const rules = advice.parts.map(({ part, limits }) => ({
    key: part === "all" ? key : part,
    limits: limits.map(({ limit, period, burst }) => ({
      ...{ limit, period: periodText(period), burst },
    })),
  }));
  const routes = advice.parts.flatMap(({ part }) => routesOf(part, advice));
  return ruleText("web", rules, isAddress ? routes : []);
}

/** A rule file of JSON, in which each rule and each route has a line. */
function ruleText(
  domain: string,
  rules: readonly object[],
  routes: readonly object[],
): readonly string[] {
  const list = (items: readonly object[]) =>
    items.map((item, index) => `    ${JSON.stringify(item)}${index < items.length - 1 ? "," : ""}`);
  return [
    `{ "domain": ${JSON.stringify(domain)},`,
    '  "rules": [',
    ...list(rules),
    ...(routes.length === 0 ? ["  ] }"] : ["  ],", '  "routes": [', ...list(routes), "  ] }"]),
  ];
}

/** The command that shows what the advised limits would have refused in the log of these arguments. */
export function commandOf({ parts }: Advice, log: string): readonly string[] {
  const rules = parts[0]!.limits.map(({ limit, period, burst }) =>
    `--rule gcra:${limit}/${periodText(period)},burst=${burst}`
  );
  return [`npx tidegate replay ${log} ${rules.join(" ")}`];
}

function routesOf(part: PartAdvice["part"], { log }: Advice): readonly object[] {
  const logins = (log?.seen?.logins ?? []).map(([path]) => path)
    .filter((path) => PLAIN_PATH.test(path)).slice(0, MAX_PATHS);
  const paths = part === "logins" ? logins : ["/*"];
  return paths.map((path) => ({
    path,
    // Most frameworks ignore case in paths, so that another spelling would avoid the limit.
    ...(path !== "/*" && { ignoreCase: true }),
    ...(part !== "all" && { methods: ["POST", "PUT", "PATCH", "DELETE"] }),
    descriptors: [{ [part === "all" ? "address" : part]: "{address}" }],
  }));
}
