import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parse } from "yaml";

import { filesOf } from "../support/tree.ts";

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const workflows = filesOf([".github"], ".yml")
  .filter(({ path }) => path.includes("/workflows/"))
  .map(({ path, text }) => ({ path, text, workflow: parse(text) as Workflow }));

describe("the workflows", () => {
  for (const { path, text, workflow } of workflows) {
    test(`${path} names the commit of each action, with its version beside it`, () => {
      const steps = Object.values(workflow.jobs).flatMap(({ steps }) => steps);
      const actions = steps.flatMap(({ uses }) => uses ?? []);
      assert.ok(actions.length > 0);
      for (const action of actions) {
        assert.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
        assert.match(text, new RegExp(`${action} # v\\d+\\.\\d+\\.\\d+\n`));
      }
    });

    test(`${path} runs no code of the repository or of a package where it has an identity`, () => {
      assert.equal(workflow.permissions?.["id-token"], undefined);
      for (const [name, { permissions, steps }] of Object.entries(workflow.jobs)) {
        if (permissions?.["id-token"] !== "write") continue;
        const text = JSON.stringify(steps);
        assert.doesNotMatch(text, /checkout|npm (ci|install|run|test)|npx|\.ci\/|node /, name);
      }
    });
  }

  test("publish with an identity", () => {
    const publish = workflows.find(({ path }) => path.endsWith("publish.yml"));
    const jobs = Object.values(publish?.workflow.jobs ?? {});
    const identified = jobs.filter(({ permissions }) => permissions?.["id-token"] === "write");
    assert.equal(identified.length, 2);
    for (const { permissions } of identified) {
      assert.deepEqual(permissions, { "id-token": "write" });
    }
  });

  test("publish an archive without prepare, of which npm would warn where it is installed", () => {
    const publish = workflows.find(({ path }) => path.endsWith("publish.yml"));
    const steps = JSON.stringify(publish?.workflow.jobs["build"]?.steps);
    assert.match(steps, /npm run build.*npm pkg delete scripts\.prepare.*npm pack /);
  });
});
