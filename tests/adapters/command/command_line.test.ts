import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import process from "node:process";

import { ruleEngine } from "../../../adapters/rules/rules.ts";
import { commandLine } from "../../../adapters/service/service.ts";
import { redisStore } from "../../../stores/redis/redis_store.ts";
import { inFolder } from "../../support/in_folder.ts";
import { withRedis } from "../../support/redis/with_redis.ts";
import { runtime } from "../../support/runtime.ts";
import { readText, rootPath } from "../../support/tree.ts";
import { run, runWith } from "./support/run_command.ts";
import { spawned } from "./support/spawned.ts";
import { withService } from "../service/support/running.ts";
import { newClient } from "../../support/redis/new_client.ts";

const USED = { limit: 2, period: "1h", burst: 2 } as const;
const EXAMPLE = `${rootPath}examples/rules.yaml`;

describe("tidegate lint", () => {
  test("finds nothing wrong with the example, not even a warning", async () => {
    assert.deepEqual(await run("lint", EXAMPLE, "--strict"), {
      status: 0,
      printed: `${EXAMPLE}: 8 rules in shop`,
      complaints: "",
    });
  });

  test("prints every fault with its place, and fails", async () => {
    const file = `${rootPath}tests/vectors/envoy-config/tests-invalid/misspelled_key.yaml`;
    const { status, complaints } = await run("lint", file, EXAMPLE);
    assert.equal(status, 1);
    assert.match(complaints, /misspelled_key.yaml:5:5: error: .*unknown key "ratelimit"/);
  });

  test("says what is wrong if the file does not exist", async () => {
    const { status, complaints } = await run("lint", "/nowhere.yaml");
    assert.equal(status, 1);
    assert.match(complaints, /^Cannot load rules from \/nowhere.yaml: .*ENOENT/);
  });
});

describe("tidegate explain", () => {
  test("prints the rules that match, with their limits", async () => {
    const { status, printed } = await run(
      ...["explain", EXAMPLE, "route=login", "address=192.0.2.7", "+", "user=bot-7"],
      ...["+", "user=mallory", "--cost", "6"],
    );
    assert.equal(status, 0);
    for (
      const line of [
        "  route=login: the rule route=login matches this exact value",
        "  its counter is route=login,address=192.0.2.7",
        "  user=bot-7: the rule user=bot-* matches the pattern bot-*",
        "rule user=mallory for user=mallory: blocked",
        "  5-in-60s (slidingLog 5 per 1 min): refuses, because the cost of 6 exceeds the capacity of 5",
        "refused by logins and user=bot-* and user=mallory",
      ]
    ) {
      assert.ok(printed.split("\n").includes(line), `${line} in\n${printed}`);
    }
  });

  test("says which rules are replaced, and by which", async () => {
    const login = ["route=login", "address=192.0.2.7"];
    const { printed } = await run("explain", EXAMPLE, ...login, "+", "address=192.0.2.7");
    assert.match(printed, /^rule per-address does not apply, because logins replaces it$/m);
    assert.doesNotMatch((await run("explain", EXAMPLE, ...login)).printed, /does not apply/);
  });

  test("complains of rules only if they cannot be used", () =>
    inFolder(async (folder) => {
      const file = join(folder, "rules.json");
      const limits = [{ limit: 3, period: "1h", burst: 3 }, { limit: 5, period: "1h", burst: 5 }];
      writeFileSync(file, JSON.stringify({ domain: "shop", rules: [{ key: "user", limits }] }));
      assert.match((await run("lint", file)).complaints, /warning: .*has no effect/);
      assert.equal((await run("explain", file, "user=1")).complaints, "");
    }));

  test("says why nothing matches", async () => {
    const { printed } = await run("explain", EXAMPLE, "path=/", "user=1");
    assert.match(
      printed,
      /no rule at this level has the key path; its keys are address, masked_remote_address, user, route/,
    );
    assert.match(printed, /allowed, because no rule with limits applies/);
  });

  test("takes an HTTP request, of which the routes make descriptors", async () => {
    const login = ["explain", EXAMPLE, "POST /login"];
    const { printed } = await run(...login, "address=198.51.100.7");
    assert.match(printed, /^ {2}its counter is route=login,address=198.51.100.7$/m);
    assert.match(printed, /^rule per-address does not apply, because logins replaces it$/m);
    assert.match((await run(...login)).printed, /route=login,address=192.0.2.1$/m);
    const evasive = `GET ${"/a \\//\u00e9.%3f.;%2f#".repeat(2)}`;
    assert.match((await run("explain", EXAMPLE, evasive)).printed, /read in too many ways/);
    const path = await run("explain", EXAMPLE, "path=/login");
    assert.match(
      path.printed,
      /no rule at this level has the key path.*\n.*\n.*write "GET \/path"/,
    );
    await inFolder(async (folder) => {
      const file = join(folder, "rules.json");
      const rules = [{ key: "a", unlimited: true }];
      const routes = [{ path: "/a", ignoreCase: true, descriptors: [{ a: "{header.x}" }] }];
      writeFileSync(file, JSON.stringify({ domain: "shop", rules, routes }));
      const ask = async (...words: string[]) => (await run("explain", file, ...words)).printed;
      assert.match(await ask("GET /b"), /not counted, because no route makes a descriptor/);
      assert.match(await ask("GET /a", "header.x=1"), /^rule a: unlimited$/m);
      await withService(async ({ url }) => {
        const answer = await ask("GET /a", "header.x=1", "--service", url);
        assert.match(answer, /answers: \{"allowed":true/);
      }, { rules: file });
    });
  });

  test("asks a running service for the state of its counters", () =>
    inFolder(async (folder) => {
      const rules = join(folder, "rules.json");
      // A unit comes back in eight hours, so that no unit does while the command starts.
      const limits = [{ limit: 3, period: "24h", burst: 3 }];
      writeFileSync(rules, JSON.stringify({ domain: "shop", rules: [{ key: "user", limits }] }));
      await withService(async ({ url }) => {
        const body = JSON.stringify({ entries: { user: "1" } });
        await fetch(`${url}/v1/consume`, { method: "POST", body });
        const { printed } = await run("explain", rules, "user=1", "--service", url);
        assert.match(printed, /answers: \{"allowed":true,"limit":3,"remaining":1/);
      }, { rules });
    }));
});

withRedis("tidegate with Redis", (redis) => {
  const connected = () => newClient(redis().url).on("error", () => {}).connect();

  test("checks the rules that are kept there", async () => {
    const client = await connected();
    await client.hSet("tidegate:rules", "shop.yaml", readFileSync(EXAMPLE, "utf8"));
    const { status, printed } = await run("lint", redis().url);
    assert.equal(status, 0);
    assert.equal(printed, `${redis().url}: 8 rules in shop`);
    client.destroy();
  });

  test("ends if the rules cannot be loaded, or if a signal comes while it waits for them", async () => {
    const client = await connected();
    await client.flushAll();
    client.destroy();
    const empty = await run("serve", redis().url, "--port", "0", "--no-grpc", "--threads", "1");
    assert.equal(empty.status, 1);
    assert.match(empty.complaints, /must hold 1 to 1000 fields: it has 0/);
    // Nobody listens at the port 1.
    const lint = await run("lint", "redis://127.0.0.1:1");
    assert.equal(lint.status, 1);
    assert.match(lint.complaints, /Cannot reach Redis at 127.0.0.1:1: .*ECONNREFUSED/);
    let end: ((signal: string) => void) | undefined;
    const waiting = commandLine(["serve", "redis://127.0.0.1:1", "--port", "0", "--no-grpc"], {
      print: (line) => line.includes("redis-error") && end!("SIGTERM"),
      ended: new Promise((resolve) => end = resolve),
      env: {},
    });
    assert.equal(await waiting, 0);
  });

  test("says which state the counters hold, and why a call is refused", async () => {
    const store = redisStore(newClient(redis().url), { deadline: 10_000 });
    const rules = { domain: "shop", rules: [{ key: "user", limits: [USED] }] } as const;
    const engine = ruleEngine({ rules, store });
    await engine.consume({
      domain: "shop",
      descriptors: [{ entries: [["user", "42"]] }],
      cost: 2,
    });
    await store.close();
    await inFolder(async (folder) => {
      const file = join(folder, "rules.json");
      writeFileSync(file, JSON.stringify(rules));
      const { printed } = await run("explain", file, "user=42", "--redis", redis().url);
      assert.match(printed, /with the counters in Redis at [^/]+:$/m);
      assert.match(printed, /refuses: the cost is 1, and 0 of 2 are left; retry in \d/);
      assert.match(printed, /refused by user$/);
      const other = await run("explain", file, "user=43", "--redis", redis().url);
      assert.match(other.printed, /allows; 1 of 2 left/);
    });
  });
});

describe("tidegate says", () => {
  const commands = ["serve", "lint", "explain", "advise", "replay", "doctor"];

  test("which commands there are, and for each its options and the meaning of its exit status", async () => {
    const overview = await run("--help");
    assert.equal(overview.status, 0);
    assert.deepEqual(await run(), { ...overview, status: 2 });
    for (const command of commands) {
      assert.match(overview.printed, new RegExp(`^tidegate ${command} `, "m"));
      const { status, printed, complaints } = await run(command, "--help");
      assert.deepEqual([status, complaints], [0, ""]);
      assert.match(printed, new RegExp(`^tidegate ${command}[^]*--help[^]*Exit status\\n +0 `));
      for (const line of printed.split("\n")) assert.ok(line.length <= 100, line);
    }
  });

  test("one line with the remedy, if the file does not exist or is a folder", async () => {
    const config = await run("lint", EXAMPLE, "--requests", "/nowhere.json");
    assert.equal(config.status, 1);
    assert.equal(
      config.complaints,
      "Cannot read --requests /nowhere.json: /nowhere.json does not exist (ENOENT): " +
        "check the path",
    );
    const folder = await run("lint", EXAMPLE, "--requests", rootPath);
    assert.match(
      folder.complaints,
      /^Cannot read --requests .*: it is a folder \(EISDIR\): give a file/,
    );
    const served = await run("serve", "/nowhere.yaml", "--no-grpc", "--log-level", "off");
    assert.equal(
      served.complaints,
      "Cannot load rules from /nowhere.yaml: /nowhere.yaml does not exist (ENOENT): " +
        "check the path",
    );
    const log = await run("replay", "/nowhere.log", "--rule", "gcra:1/1m,burst=1");
    assert.deepEqual([log.status, log.complaints.split("\n").length], [1, 1]);
    assert.match(log.complaints, /\/nowhere.log does not exist \(ENOENT\)/);
  });

  test("one line with the remedy, if the port is taken", async () => {
    const server = createServer();
    const port = await new Promise<number>((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
    );
    try {
      for (const threads of ["1", "2"]) {
        const { status, complaints } = await run(
          ...["serve", EXAMPLE, "--port", String(port), "--no-grpc", "--threads", threads],
          ...["--log-level", "off"],
        );
        assert.equal(status, 1);
        assert.match(
          complaints,
          /\(EADDRINUSE\): stop the program .* choose another port with --port/,
        );
        assert.ok(complaints.includes(String(port)), complaints);
        assert.equal(complaints.split("\n").length, 1);
      }
    } finally {
      server.close();
    }
  });
});

test("tidegate --version is that of the package", async () => {
  const { version } = JSON.parse(readText("deno.json"));
  assert.deepEqual(await run("--version"), { status: 0, printed: version, complaints: "" });
});

test("options come from arguments, or else from variables", () =>
  inFolder(async (folder) => {
    const rules = join(folder, "rules.json");
    // Each format reads this file in another way, or not at all.
    writeFileSync(rules, '{ "domain": "shop", "rules": [{ "key": "user", "unlimited": true }] }');
    const statuses = async (env: Readonly<Record<string, string>>, ...args: readonly string[]) =>
      (await runWith(env, "lint", rules, ...args)).status;
    assert.equal(await statuses({}), 0);
    assert.equal(await statuses({ TIDEGATE_FORMAT: "envoy" }), 1);
    assert.equal(await statuses({ TIDEGATE_FORMAT: "envoy" }, "--format", "auto"), 0);
    const flag = await runWith({ TIDEGATE_STRICT: "yes" }, "lint", rules);
    assert.match(flag.complaints, /strict in TIDEGATE_STRICT must be true or false, not yes/);
  }));

test("lint reports requests that no rule limits, and suggests the key that was meant", () =>
  inFolder(async (folder) => {
    const [rules, requests] = ["rules.json", "requests.jsonl"].map((name) => join(folder, name));
    const limits = [{ limit: 1, period: "1m" }];
    writeFileSync(
      rules!,
      JSON.stringify({
        domain: "shop",
        rules: [{ key: "user", limits }, { key: "path", value: "/a", limits }],
      }),
    );
    const lint = () => run("lint", rules!, "--requests", requests!);
    writeFileSync(requests!, '{"entries":{"user":"42"}}\n\n');
    assert.deepEqual([(await lint()).status, (await lint()).complaints], [0, ""]);
    writeFileSync(
      requests!,
      '{"entries":{"usr":"42"}}\n{"domain":"shpo","entries":{"user":"1"}}\n' +
        '{"descriptors":[{"entries":[["user","1"]]},{"entries":[["path","/b"]]}]}\nnonsense\n' +
        '{"path":"/a"}\n',
    );
    const { status, complaints } = await lint();
    assert.equal(status, 1);
    assert.deepEqual(
      complaints.split("\n").map((line) => line.slice(line.indexOf(".jsonl:") + 7)),
      [
        "1: no rule has the key usr: did you mean user?",
        "2: no rules have the domain shpo: did you mean shop?",
        "3: no rule matches path=/b",
        "4: it must be a JSON object",
        '5: a request must have entries, such as {"entries":{"user":"42"}}, or descriptors with entries',
      ],
    );
  }));

/** Whoever gives something else may have given a password, so it is not repeated. */
const REDIS_NEEDED = /--redis must be a URL such as redis:\/\/host:port/;

describe("tidegate refuses, with a status of 2 and the help to ask for,", () => {
  const cases: readonly [args: readonly string[], message: RegExp][] = [
    [["dance"], /unknown command dance/],
    [["serve"], /serve needs rules/],
    [["lint"], /rules to check/],
    [["explain", EXAMPLE], /a descriptor/],
    [["explain", EXAMPLE, "user"], /key=value pairs, not user/],
    [["explain", EXAMPLE, "GET /", "user=1"], /address=... and header.name=..., not user/],
    [["explain", EXAMPLE, "user=1", "--domain", "x"], /--domain must be one of shop/],
    [["serve", EXAMPLE, "--port", "eighty"], /--port must be a whole number/],
    [["serve", EXAMPLE, "--redis", "cache:6379"], REDIS_NEEDED],
    [["explain", EXAMPLE, "user=1", "--redis", "cache"], REDIS_NEEDED],
    [["serve", EXAMPLE, "--redis", "http://user:secret@cache"], REDIS_NEEDED],
    [["serve", "redis://:secret@cache:port"], /RULES must be a URL such as redis:\/\/host:port/],
    [["serve", EXAMPLE, "--store", "mysql://cache"], /--store must be sqlite:FILE or postgres:/],
    [["advise", "log", "--headroom", "two"], /--headroom must be a number, not two/],
    [["serve", EXAMPLE, "--prot", "80"], /unknown option --prot: did you mean --port\?/],
    [["serve", EXAMPLE, "--port"], /--port needs a value, such as 8080/],
    [["serve", EXAMPLE, "--port", "--shadow"], /--port needs a value/],
    [["serve", EXAMPLE, "--shadow=yes"], /--shadow takes no value/],
    [["lint", EXAMPLE, "--port", "80"], /unknown option --port/],
    [["repaly"], /unknown command repaly: did you mean replay\?/],
    [["--port", "80", "serve"], /the command must come before its options/],
    [
      ["serve", EXAMPLE, "--drain-delay", "soon"],
      /--drain-delay must be a duration such as 300ms, 5s or 0/,
    ],
    [["serve", EXAMPLE, "--log-level", "loud"], /--log-level must be info, error or off/],
    [
      ["serve", EXAMPLE, "--on-lookup-failure", "no"],
      /--on-lookup-failure must be throw or default/,
    ],
    [["lint", EXAMPLE, "--format", "xml"], /--format must be/],
    [["replay", "log", "--format", "xml"], /--format must be vhost, .* or csv, not xml/],
    [["replay", "log", "--ruel", "gcra:1/1s,burst=1"], /ruel/],
  ];
  for (const [args, message] of cases) {
    test(args.join(" ").replace(rootPath, ""), async () => {
      const { status, complaints } = await run(...args);
      assert.equal(status, 2);
      assert.match(complaints, message);
      assert.doesNotMatch(complaints, /secret/);
      const isCommand = /^(serve|lint|explain|replay|advise)$/.test(args[0]!);
      assert.ok(
        complaints.endsWith(`(tidegate ${isCommand ? `${args[0]} ` : ""}--help)`),
        complaints,
      );
    });
  }
});

test("tidegate serve runs until it receives a signal, SIGINT without a delay, and logs each event as JSON", async () => {
  const grpc = runtime() === "deno" ? ["--no-grpc"] : ["--grpc-port", "0"];
  const options = [
    ...["--port", "0", ...grpc, "--threads", "2", "--drain-delay", "60m", "--capacity", "1000"],
    ...["--trust", "loopback,10.0.0.0/8", "--ipv6-prefix", "56", "--on-lookup-failure", "default"],
    ...["--format", "auto", "--merge-domains", "--response-headers", "--token", "secret"],
  ];
  const { child, ended, says, said } = spawned("serve", EXAMPLE, ...options);
  await says('"listening"');
  const eventsOf = () => said().match(/^\{.*\}$/gm)!.map((line) => JSON.parse(line));
  const response = await fetch(`${eventsOf().at(-1).url}/v1/consume`, {
    method: "POST",
    headers: { "x-tidegate-token": "secret" },
    body: JSON.stringify({ entries: { user: "42" } }),
  });
  assert.equal((await response.json()).allowed, true);
  // Deno takes a child that it has killed to have died of it, whatever its status.
  process.kill(child.pid!, "SIGINT");
  assert.equal(await ended, 0, said());
  const events = eventsOf();
  const names = events.map(({ event }) => event).join(" ");
  assert.equal(names, "rules-loaded listening stopping stopped");
  for (const { time } of events) assert.match(String(time), /^\d{4}-\d\d-\d\dT.*Z$/);
});
