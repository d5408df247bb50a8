import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

import { parse, parseAllDocuments } from "yaml";

import { commandLine } from "../../adapters/service/service.ts";
import { fileSource } from "../../adapters/rules/rules.ts";
import { get, post, withService } from "../adapters/service/support/running.ts";
import { inFolder } from "../support/in_folder.ts";
import { readText } from "../support/tree.ts";

const FOLDER = "examples/deploy";
const RULES = "/etc/tidegate/rules.yaml";

/** The way in which a file of examples/deploy starts the command: arguments, variables, and rules. */
interface Start {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly rules?: string;
}

function ofKubernetes(): Start {
  const parts = parseAllDocuments(readText(`${FOLDER}/kubernetes.yaml`)).map((part) => part.toJS());
  const [container] = parts.find(({ kind }) => kind === "Deployment").spec.template.spec.containers;
  const env = container.env.map(({ name, value }: Record<string, string>) => [name, value]);
  return {
    args: container.args,
    env: Object.fromEntries(env),
    rules: parts.find(({ kind }) => kind === "ConfigMap").data["rules.yaml"],
  };
}

const STARTS: Readonly<Record<string, () => Start>> = {
  Dockerfile: () => ({
    args: JSON.parse(/^CMD (.*)$/m.exec(readText(`${FOLDER}/Dockerfile`))![1]!),
  }),
  "compose.yaml": () => ({
    args: parse(readText(`${FOLDER}/compose.yaml`)).services["limits-a"].command,
  }),
  "tidegate.service": () => ({
    args: /^ExecStart=\S+ \S+ (.*)$/m.exec(readText(`${FOLDER}/tidegate.service`))![1]!.split(" "),
  }),
  "kubernetes.yaml": ofKubernetes,
};

describe("the service starts as it is started by", () => {
  for (const [name, start] of Object.entries(STARTS)) {
    test(name, () =>
      inFolder(async (folder) => {
        const { args, env = {}, rules = readText("examples/rules.yaml") } = start();
        const file = join(folder, "rules.yaml");
        writeFileSync(file, rules);
        let end = (_: unknown) => {};
        const ended = new Promise((resolve) => end = resolve);
        const events: Record<string, unknown>[] = [];
        // There is no Redis here, and the ports are others; all else is as the file says.
        const { TIDEGATE_REDIS: _redis, ...variables } = env;
        const redis = args.indexOf("--redis");
        const own = redis === -1 ? args : args.toSpliced(redis, 2);
        assert.ok(own.includes(RULES), `${name} names its rules`);
        const changed = ["--port", "0", "--no-grpc", "--threads", "1", "--drain-delay", "0"];
        const status = await commandLine(
          [...own.map((arg) => arg === RULES ? file : arg), ...changed],
          {
            env: variables,
            ended,
            complain: (line) => assert.fail(line),
            print(line) {
              const event = JSON.parse(line);
              events.push(event);
              if (event.event === "listening") end(undefined);
            },
          },
        );
        assert.equal(status, 0);
        const names = events.map(({ event }) => event).join(" ");
        assert.equal(names, "rules-loaded listening stopping stopped");
      }));
  }
});

describe("the service answers as it is asked by", () => {
  const file = (name: string) => parse(readText(`${FOLDER}/${name}`));
  const rules = fileSource("examples/rules.yaml");

  test("traefik.yaml", () =>
    withService(async (service) => {
      const { http: { middlewares, routers } } = file("traefik.yaml");
      assert.deepEqual(routers.page.middlewares, ["limits"]);
      const { pathname, search } = new URL(middlewares.limits.forwardAuth.address);
      const statuses: number[] = [];
      for (let times = 0; times < 21; times++) {
        const headers = { "x-forwarded-uri": "/a", "x-forwarded-method": "GET" };
        statuses.push((await get(service, pathname + search, headers)).status);
      }
      assert.deepEqual(statuses, [...Array(20).fill(200), 429]);
    }, { rules }));

  test("envoy.yaml", () =>
    withService(async (service) => {
      const { listeners: [web], clusters } = file("envoy.yaml").static_resources;
      const { services: { envoy: _envoy, ...called } } = file("envoy.compose.yaml");
      assert.deepEqual(clusters.map(({ name }: { name: string }) => name), Object.keys(called));
      const { route_config, http_filters } = web.filter_chains[0].filters[0].typed_config;
      const { domain, failure_mode_deny: denies } = http_filters[0].typed_config;
      assert.equal(denies, true);
      const [{ actions: [action] }] = route_config.virtual_hosts[0].rate_limits;
      const [key] = Object.keys(action);
      const statuses: number[] = [];
      for (let times = 0; times < 21; times++) {
        const entries = [{ key, value: "192.0.2.7/32" }];
        statuses.push(
          (await post(service, "/json", { domain, descriptors: [{ entries }] })).status,
        );
      }
      assert.deepEqual(statuses, [...Array(20).fill(200), 429]);
    }, { rules }));
});
