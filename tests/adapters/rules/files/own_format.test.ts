import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  problemText,
  readDocuments,
  readRules,
  ruleSchemaText,
  yamlReader,
} from "../../../../adapters/rules/rules.ts";
import { routeWarnings } from "../../../../adapters/rules/files/route_warnings.ts";
import { upTo } from "../../../support/seed.ts";
import { readText } from "../../../support/tree.ts";

const yaml = await yamlReader();

function read(text: string) {
  return readRules([{ name: "rules.yaml", text }], yaml);
}

function problemsOf(text: string): string[] {
  return read(text).problems.map(problemText);
}

/** A file whose one rule has these lines. */
function ruleOf(...lines: readonly string[]): string {
  return ["domain: shop", "rules:", "  - key: user", ...lines.map((line) => `    ${line}`), ""]
    .join("\n");
}

test("a domain may have more rules than a call takes arguments", () => {
  const routes = [{ cost: 2, descriptors: [{ user: "{address}" }] }];
  const file = {
    domain: "shop",
    rules: [{ key: "user", limits: [{ limit: 1, period: 1 }] }],
    routes,
  };
  const { rules, problems } = readRules([{ name: "object", data: file }], undefined);
  const domain = rules!.domains.get("shop")!;
  const large = { ...domain, rules: new Array(200_000).fill(domain.rules[0]) };
  const messages = [...routeWarnings({ ...file, rules: [] }, large)].map(({ message }) => message);
  assert.deepEqual(messages, problems.map(({ message }) => message));
});

test("only documents are read, and only known options", async () => {
  const rule = "documents must be an array of objects such as { name, text }";
  for (
    const [given, shown] of [
      ["rules.yaml", '"rules.yaml"'],
      [Promise.resolve([]), "a promise"],
      [["domain: shop"], "an array"],
      [[undefined], "an array"],
    ] as const
  ) {
    const error = {
      name: "TypeError",
      message: `Cannot read rules as ${rule}: current value is ${shown}`,
    };
    assert.throws(() => readRules(given as never, yaml), error);
    await assert.rejects(readDocuments(given as never), error);
  }
  const misspelled = { mergeDomain: true } as object;
  const error =
    /^TypeError: Cannot read rules because .* "mergeDomain": its options are .*mergeDomains/;
  assert.throws(() => readRules([], yaml, misspelled), error);
  await assert.rejects(readDocuments([], misspelled), error);
});

test("a file with everything in it is read", () => {
  const { rules, problems } = read(`
domain: shop
charge: together
changes: proportional
rules:
  - key: user
    name: per-user
    lookup: default
    limits:
      - { limit: 100, period: 1m, burst: 20 }
      - { algorithm: slidingWindow, limit: 1000, period: 1h, precision: 1m, name: hourly }
  - { key: user, value: admin, unlimited: true }
  - { key: user, value: "bot-*", share: true, shadow: true, limits: [{ limit: 5, period: 1000, burst: 5 }] }
  - key: path
    value: /v1/*
    rules:
      - key: user
        replaces: [per-user]
        limits: [{ algorithm: leakyQueue, limit: 1, period: 1s, queue: 4 }]
  - { key: address, value: 192.0.2.7, blocked: true }
routes:
  - path: /v1/users/:id
    ignoreCase: false
    methods: [POST]
    cost: 2
    descriptors:
      - { path: /v1/users, user: "{path.id}" }
...
`);
  assert.deepEqual(problems, []);
  assert.deepEqual(rules?.rules.map(({ label, kind }) => `${label} ${kind}`), [
    "user limited",
    "user=admin unlimited",
    "user=bot-* limited",
    "path=/v1/* open",
    "path=/v1/*,user limited",
    "address=192.0.2.7 blocked",
  ]);
  assert.equal(rules?.rules[0]?.limits[1]?.id, "slidingWindow/3600000/60000");
});

test("JSON needs no package: it is read alike without a parser of YAML", () => {
  const read = (text: string) => readRules([{ name: "rules.json", text }], undefined);
  const limits = '[{ "limit": 3, "period": "1h", "burst": 3 }]';
  const text = `{ "domain": "shop", "rules": [{ "key": "a:b", "limits": ${limits} }] }`;
  assert.equal(read(text).rules?.rules.length, 1);
  const envoy = '{ "domain": "e", "descriptors": [{ "key": "a", "rate_limit": ' +
    '{ "unit": "hour", "requests_per_unit": 7, "unlimited": false } }] }';
  assert.equal(read(envoy).rules?.rules[0]?.limits[0]?.policies[0]?.limit, 7);
  for (
    const [bad, problem] of [
      [
        text.replace('"3"', "0").replace("3,", "-1,"),
        /^rules.json: error: rules\[0\].limits\[0\].limit/,
      ],
      [text.replace('"key": "a:b",', '"key": "a", "key": "b",'), /error: Map keys must be unique$/],
      [text.slice(0, -1), /it is not valid JSON: .+$/],
    ] as const
  ) {
    const { rules, problems } = read(bad);
    assert.equal(rules, undefined);
    assert.match(problemText(problems[0]!), problem);
  }
});

test("JSON is read as well, and an error in it has its line", () => {
  const file = {
    domain: "shop",
    rules: [{ key: "user", limits: [{ limit: 1, period: "1s", burst: 1 }] }],
  };
  assert.deepEqual(problemsOf(JSON.stringify(file)), []);
  assert.deepEqual(problemsOf('{\n "domain": "shop",\n "rules": 1\n}'), [
    "rules.yaml:3:11: error: rules: expected a list, not 1",
  ]);
});

describe("every error has its file, line, path and expectation:", () => {
  const cases: readonly [text: string, problem: string][] = [
    ["", "rules.yaml: error: expected a map, not null"],
    ["rules: []\n", "rules.yaml:1:1: error: domain is required here"],
    [
      "domain: 7\nrules: []\n",
      "rules.yaml:1:9: error: domain: expected text (put it in quotes), not 7",
    ],
    [
      "domain: shop\nrules: []\nrule: []\n",
      'rules.yaml:3:1: error: rule: unknown key "rule": expected one of domain, charge, changes, rules, routes, ipv6Prefix',
    ],
    [
      "domain: shop\ncharge: all\nrules: []\n",
      'rules.yaml:2:9: error: charge: expected one of together, each, not "all"',
    ],
    [
      ruleOf("limits: [{ limit: -1, period: 1s, burst: 1 }]"),
      "rules.yaml:4:23: error: rules[0].limits[0].limit: expected an integer of at least 0, not -1",
    ],
    [
      ruleOf("limits: [{ limit: 1, period: 1 second, burst: 1 }]"),
      'rules.yaml:4:34: error: rules[0].limits[0].period: expected a period such as "500ms", "10s", "1m", "1h", "1d", not "1 second"',
    ],
    [
      ruleOf("limits:", "  - { algorithm: slidingWindow, limit: 1, period: 1s }"),
      "rules.yaml:5:9: error: rules[0].limits[0]: precision is required here",
    ],
    [
      ruleOf("limits:", "  - { algorithm: slidingLog, limit: 1, period: 1s, burst: 2 }"),
      'rules.yaml:5:56: error: rules[0].limits[0].burst: unknown key "burst": expected one of algorithm, limit, period, name',
    ],
    [
      ruleOf("limits:", "  - { algorithm: gcar, limit: 1, period: 1s }"),
      'rules.yaml:5:22: error: rules[0].limits[0].algorithm: expected one of gcra, fixedWindow, calendarWindow, slidingLog, slidingCounter, slidingWindow, tokenBucket, leakyBucket, leakyQueue, lockout, concurrency, not "gcar"',
    ],
    [
      ruleOf("limits:", "  - { algorithm: slidingWindow, limit: 1, period: 1s, precision: 300 }"),
      "rules.yaml:5:9: error: rules[0].limits[0]: Cannot create slidingWindow as precision must divide the period of 1000 ms into at most 65536 sub-buckets: current value is 300",
    ],
    [ruleOf("key: again"), "rules.yaml:4:5: error: Map keys must be unique"],
    [
      "domain: shop\nrules: []\nroutes: [{ descriptors: [{ user: '{cookie}' }] }]\n",
      "rules.yaml:3:34: error: routes[0].descriptors[0].user: expected {address}, {method}, {path}, {path.name} or {header.name} in braces, not {cookie}",
    ],
    [
      "domain: shop\nrules: []\nroutes: [{ path: '/a/:', descriptors: [{ user: x }] }]\n",
      "rules.yaml:3:18: error: routes[0].path: expected a URL pattern such as /v1/users/:id",
    ],
  ];
  for (const [text, problem] of cases) {
    test(problem, () => {
      const { rules, problems } = read(text);
      assert.equal(rules, undefined);
      assert.equal(problems.length, 1, problems.map(problemText).join("\n"));
      assert.ok(problemText(problems[0]!).startsWith(problem), problemText(problems[0]!));
    });
  }

  test("and all of them are reported at once", () => {
    const text = ruleOf("shadow: 1", "limits: [{ limit: 1, period: 0, burst: 1 }]", "nmae: x");
    assert.equal(problemsOf(text).length, 3);
  });
});

test("the example's paths match where the runtime has no patterns of its own", async () => {
  const scope = globalThis as { URLPattern?: unknown };
  const own = Object.getOwnPropertyDescriptor(scope, "URLPattern");
  delete scope.URLPattern;
  try {
    const text = readText("examples/rules.yaml");
    const { rules, problems } = readRules([{ name: "rules.yaml", text }], await yamlReader());
    assert.deepEqual(problems, []);
    const asked = (path: string) =>
      rules!.routes.get("shop")!({
        method: "POST",
        path,
        address: "192.0.2.7",
        header: () => undefined,
      })!.map(({ entries }) => entries.map((entry) => entry.join("=")).join(" "));
    assert.deepEqual(asked("/login"), ["address=192.0.2.7", "route=login address=192.0.2.7"]);
    assert.deepEqual(asked("/search/a"), ["address=192.0.2.7", "route=search address=192.0.2.7"]);
    assert.deepEqual(asked("/logins"), ["address=192.0.2.7"]);
  } finally {
    if (own !== undefined) Object.defineProperty(scope, "URLPattern", own);
  }
});

describe("rules that would do harm are refused:", () => {
  const bomb = [
    "a: &a [x, x, x, x, x, x, x, x, x]",
    ...["b", "c", "d", "e", "f", "g"].map((name) => {
      const before = String.fromCharCode(name.charCodeAt(0) - 1);
      return `${name}: &${name} [${Array(9).fill(`*${before}`).join(", ")}]`;
    }),
  ].join("\n");
  const cases: readonly [name: string, text: string, message: RegExp][] = [
    ["a bomb of aliases", bomb, /Excessive alias count/],
    ["an alias of itself", "domain: &a [*a]\nrules: []\n", /error/],
    [
      "rules within themselves",
      "domain: a\nrules: &a [{ key: b, rules: *a }]\n",
      /200 levels deep/,
    ],
    [
      "Envoy's descriptors within themselves",
      "domain: a\ndescriptors: &a [{ key: b, descriptors: *a }]\n",
      /200 levels deep/,
    ],
    ["deep nesting", "[".repeat(200_000), /error/],
    ["several documents", "domain: a\nrules: []\n---\ndomain: b\nrules: []\n", /error/],
    ["a tag of its own", "domain: !!js/function x\nrules: []\n", /error/],
    ["what is too long", `# ${"x".repeat(5 * 2 ** 20)}`, /at most 4194304 characters/],
    ["binary", "\u0000\u0001\u0002", /error/],
  ];
  for (const [name, text, message] of cases) {
    test(name, () => {
      const { rules, problems } = read(text);
      assert.equal(rules, undefined);
      assert.match(problems.map(problemText).join("\n"), message);
    });
  }

  test("keys without number take no longer than their text", () => {
    // By the square of their number 200,000 would take minutes.
    for (const count of [200_000, 1_000, 10]) {
      const keys = upTo(count).map((place) => `k${place}: 1`).join("\n");
      const { rules, problems } = read(`${keys}\nk7: 2\n`);
      assert.equal(rules, undefined);
      const said = new RegExp(`:${count + 1}:1: error: Map keys must be unique`);
      assert.match(problems.map(problemText).join("\n"), said);
    }
  });

  test("a key that stands twice, however deep", () => {
    for (
      const text of [
        "rules: [{ key: a, key: b }]",
        "a: { b: [{ c: 1, c: 2 }] }",
        "? [1]\n: 1",
        "rules: [{ &k key: a, *k : b }]",
      ]
    ) {
      const { rules, problems } = read(`domain: a\n${text}\n`);
      assert.equal(rules, undefined, text);
      assert.ok(problems.length > 0);
    }
  });

  test("a limit's name that cannot stand in a header field", () => {
    for (const name of ["gr\u00fc\u00dfe", "a\\nb"]) {
      const { rules, problems } = read(
        `domain: a\nrules:\n  - key: b\n    limits: [{ limit: 1, period: 1s, burst: 1, name: "${name}" }]\n`,
      );
      assert.equal(rules, undefined);
      assert.match(problems.map(problemText).join("\n"), /name: expected .*printable ASCII/);
    }
  });

  test("names of the language are names like others", () => {
    const { rules, problems } = read(
      'domain: __proto__\nrules:\n  - { key: __proto__, value: constructor, unlimited: true }\n  - { "__proto__": 1, key: a }\n',
    );
    assert.equal(rules, undefined);
    assert.match(problemText(problems[0]!), /unknown key "__proto__"/);
    assert.equal(({} as { limits?: unknown }).limits, undefined);
  });
});

describe("a warning, and the rules hold:", () => {
  const cases: readonly [name: string, text: string, warning: string][] = [
    [
      "a limit that never binds",
      ruleOf(
        "limits:",
        "  - { limit: 1, period: 1s, burst: 1 }",
        "  - { algorithm: slidingLog, limit: 100000, period: 1d }",
      ),
      "rules.yaml:6:9: warning: rules[0].limits[1]: this limit (100000-in-86400s) has no effect, because 1-in-1s is always reached first",
    ],
    [
      "a pattern that nothing reaches",
      "domain: shop\nrules:\n  - { key: a, value: b*, unlimited: true }\n  - { key: a, value: bc*, unlimited: true }\n",
      "rules.yaml:4:22: warning: rules[1].value: this pattern never matches, because b* comes before it",
    ],
    [
      "a name that is no rule's",
      ruleOf("limits: [{ limit: 1, period: 1s, burst: 1 }]", "replaces: [other]"),
      "rules.yaml:5:16: warning: rules[0].replaces[0]: this domain has no rule named other",
    ],
    [
      "a cost above every limit",
      ruleOf("limits: [{ limit: 1, period: 1s, burst: 1 }]") +
      "routes: [{ cost: 2, descriptors: [{ user: '{address}' }] }]\n",
      "rules.yaml:5:18: warning: routes[0].cost: every limit of this domain is too small for a cost of 2",
    ],
    [
      "a route whose descriptor no rule has",
      ruleOf("limits: [{ limit: 1, period: 1s, burst: 1 }]") +
      "routes: [{ descriptors: [{ user: '{address}' }, { usr: '{address}' }] }]\n",
      "rules.yaml:5:49: warning: routes[0].descriptors[1]: this descriptor is not limited, because no rule matches usr={address}: did you mean user?",
    ],
    [
      "a route whose descriptor goes on after the last rule",
      ruleOf("value: a*", "limits: [{ limit: 1, period: 1s, burst: 1 }]") +
      "routes: [{ descriptors: [{ user: ab }, { user: '{address}' }, { user: a, more: b }] }]\n",
      "rules.yaml:6:63: warning: routes[0].descriptors[2]: this descriptor is not limited, because no rule matches user=a more=b",
    ],
    [
      "a route that ends at a rule without limits",
      ruleOf("rules: [{ key: more, unlimited: true }]") +
      "routes: [{ descriptors: [{ user: '{address}' }, { user: '{address}', more: a }] }]\n",
      "rules.yaml:5:26: warning: routes[0].descriptors[0]: this descriptor is not limited, because it ends at user, which has no limits",
    ],
    [
      "a rule for a value that no route has, beside one for programs",
      "domain: shop\nrules:\n  - { key: route, value: a, rules: [{ key: b, unlimited: true }] }\n  - { key: route, value: lgoin, unlimited: true }\n  - { key: customer, unlimited: true }\n" +
      "routes: [{ descriptors: [{ route: a, b: '{address}' }] }]\n",
      "rules.yaml:4:5: warning: rules[1]: no route makes a descriptor that matches route=lgoin",
    ],
    [
      "a rule for a key that no route has, but for a letter",
      "domain: shop\nrules:\n  - { key: user, unlimited: true }\n  - { key: users, unlimited: true }\n" +
      "routes: [{ descriptors: [{ user: '{address}' }] }]\n",
      "rules.yaml:4:5: warning: rules[1]: no route makes a descriptor that matches users: did you mean user?",
    ],
    [
      "a network as a value",
      "domain: shop\nrules:\n  - { key: a, value: 10.0.0.0/8, unlimited: true }\n  - { key: a, value: 10.0.0.1/32, unlimited: true }\n  - { key: a, value: '2001:db8::/64', unlimited: true }\n  - { key: a, value: '2001:db8::/32', unlimited: true }\n",
      "rules.yaml:3:22: warning: rules[0].value: a value is compared as text, so no address in this network matches",
    ],
    [
      "a parent that shadows the generic rule",
      "domain: shop\nrules:\n  - { key: a, limits: [{ limit: 1, period: 1s, burst: 1 }] }\n  - { key: a, value: b, rules: [{ key: c, unlimited: true }] }\n  - { key: a, value: d, blocked: true }\n",
      "rules.yaml:4:22: warning: rules[1].value: this rule has no limits, and calls for this value alone pass those of a without a value",
    ],
    [
      "a path whose case decides",
      ruleOf("limits: [{ limit: 1, period: 1s, burst: 1 }]") +
      "routes: [{ path: '/:id(a)/b', descriptors: [{ user: '{address}' }] }, { path: /x, ignoreCase: false, descriptors: [{ user: '{address}' }] }, { path: '/:id/(b)/*', descriptors: [{ user: '{address}' }] }]\n",
      "rules.yaml:5:18: warning: routes[0].path: this path is case-sensitive, but Express, Koa and others ignore case, so a client can avoid the limit by another spelling: set ignoreCase to true, or to false if your server is case-sensitive",
    ],
    [
      "a shadow of nothing",
      ruleOf("shadow: true", "unlimited: true"),
      "rules.yaml:4:13: warning: rules[0].shadow: a shadow rule needs limits",
    ],
  ];
  for (const [name, text, warning] of cases) {
    test(name, () => {
      const { rules, problems } = read(text);
      assert.equal(rules?.domains.size, 1);
      assert.deepEqual(problems.map(problemText), [warning]);
    });
  }
});

describe("the JSON Schema for editors", () => {
  test("is the schema that files are checked against", () => {
    assert.equal(readText("docs/rules.schema.json"), ruleSchemaText());
  });

  test("is JSON Schema of the year 2020, and every key in it is described", () => {
    const schema = JSON.parse(ruleSchemaText());
    assert.equal(schema.$schema, "https://json-schema.org/draft/2020-12/schema");
    for (const [name, property] of Object.entries(schema.$defs.rule.properties)) {
      assert.ok((property as { description?: string }).description, name);
    }
  });
});
