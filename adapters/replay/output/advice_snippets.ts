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

/** A rule file with the advised limits; with routes, if clients are addresses. */
export function rulesOf(advice: Advice): readonly string[] {
  const [column = "address"] = advice.log?.keys ?? [];
  const isAddress = advice.log === undefined || column === EITHER_NAME || isAddressName(column);
  const key = isAddress ? "address" : PLAIN_NAME.test(column) ? column : "client";
  const keyOf = (part: PartAdvice["part"]) => part === "all" ? key : part;
  return [
    "domain: web",
    "rules:",
    ...advice.parts.flatMap(({ part, limits }) => [
      `  - key: ${keyOf(part)}`,
      "    limits:",
      ...limits.map(({ limit, period, burst }) =>
        `      - { limit: ${limit}, period: ${periodText(period)}, burst: ${burst} }`
      ),
    ]),
    ...(isAddress
      ? ["routes:", ...advice.parts.flatMap(({ part }) => routesOf(part, advice))]
      : []),
  ];
}

function routesOf(part: PartAdvice["part"], { log }: Advice): readonly string[] {
  const logins = (log?.seen?.logins ?? []).map(([path]) => path)
    .filter((path) => PLAIN_PATH.test(path)).slice(0, MAX_PATHS);
  const paths = part === "logins" ? logins : ["/*"];
  return paths.flatMap((path) => [
    `  - path: ${path === "/*" ? '"/*"' : path}`,
    // Most frameworks ignore case in paths, so that another spelling would avoid the limit.
    ...(path === "/*" ? [] : ["    ignoreCase: true"]),
    ...(part === "all" ? [] : ["    methods: [POST, PUT, PATCH, DELETE]"]),
    `    descriptors: [{ ${part === "all" ? "address" : part}: "{address}" }]`,
  ]);
}
