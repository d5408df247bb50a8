import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { matchDescriptor } from "../../../../core/rules/rules.ts";
import { problemText } from "../../../../adapters/rules/files/rule_problem.ts";
import { yamlReader } from "../../../../adapters/rules/files/read_yaml.ts";
import { readRules } from "../../../../adapters/rules/files/read_rules.ts";
import { readText } from "../../../support/tree.ts";

// The files and lookups are facts about envoyproxy/ratelimit (Apache-2.0); see lookups.json.

const FOLDER = "tests/vectors/envoy-config";

interface Expected {
  readonly unlimited: boolean;
  readonly requests_per_unit: number;
  readonly unit: string | null;
  readonly name: string;
  readonly replaces: readonly string[];
  readonly shadow_mode: boolean;
  readonly quota_mode: boolean;
  readonly counter_key: string;
}

interface Vectors {
  readonly units_seconds: Readonly<Record<string, number>>;
  readonly valid_files: readonly string[];
  readonly lookups: readonly {
    readonly files: readonly string[];
    readonly opts: { readonly merge?: boolean };
    readonly domain: string;
    readonly entries: readonly (readonly [string, string])[];
    readonly expect: Expected | null;
  }[];
  readonly invalid: readonly { readonly files: readonly string[]; readonly error: string }[];
}

const vectors = JSON.parse(readText(`${FOLDER}/lookups.json`)) as Vectors;
const yaml = await yamlReader();

function read(files: readonly string[], mergeDomains = false) {
  const documents = files.map((file) => ({
    name: file.split("/").at(-1)!,
    text: readText(`${FOLDER}/${file}`),
  }));
  return readRules(documents, yaml, { format: "envoy", mergeDomains });
}

function messages(files: readonly string[]): string {
  const { rules, problems } = read(files);
  assert.equal(rules, undefined);
  return problems.map(problemText).join("\n");
}

describe("Envoy's valid files", () => {
  for (const file of vectors.valid_files) {
    test(`${file} is read as it is`, () => {
      const { rules, problems } = read([file]);
      assert.deepEqual(problems.map(problemText), []);
      assert.equal(rules?.domains.size, 1);
    });
  }
});

describe("Envoy's lookups", () => {
  vectors.lookups.forEach(({ files, opts, domain, entries, expect }, index) => {
    const asked = entries.map((entry) => entry.join("=")).join(" ");
    test(`${index}: ${files.join(" and ")}: ${domain} ${asked}`, () => {
      const { rules } = read(files, opts.merge);
      const found = rules?.domains.get(domain);
      const match = found && matchDescriptor(found, entries);
      assert.deepEqual(match === undefined ? null : answerOf(domain, match), expect);
    });
  });

  type Found = NonNullable<ReturnType<typeof matchDescriptor>>;

  function answerOf(domain: string, { rule, key }: Found): Expected {
    const [policy] = rule.limits[0]?.policies ?? [];
    const unit = Object.entries(vectors.units_seconds)
      .find(([, seconds]) => seconds * 1_000 === policy?.period)?.[0];
    return {
      unlimited: rule.kind === "unlimited",
      requests_per_unit: policy?.limit ?? 0,
      // A limit of 0 refuses whatever the unit; the one vector of it is per second.
      unit: rule.kind === "blocked" ? "second" : unit ?? null,
      name: rule.name ?? "",
      replaces: rule.replaces,
      shadow_mode: rule.shadow,
      quota_mode: rule.quota,
      counter_key: `${domain}_${key.replaceAll(/[=,]/g, "_")}_`,
    };
  }
});

describe("Envoy's invalid files", () => {
  const faults: readonly [file: string, what: RegExp][] = [
    ["bad_limit_unit", /6:13: error: .*unit: invalid rate limit unit 'foo'/],
    ["bad_yaml", /error: .*quote/i],
    ["duplicate_key", /6:5: error: .*duplicate descriptor composite key 'key1_value1'/],
    ["empty_domain", /domain is required/],
    ["empty_key", /3:5: error: .*descriptor has an empty key/],
    ["misspelled_key", /5:5: error: .*unknown key "ratelimit"/],
    ["misspelled_key2", /7:7: error: .*unknown key "requestsperunit"/],
    ["non_map_list", /3:5: error: descriptors\[0\]: expected a map, not "a"/],
    ["non_string_key", /1:1: error: .*unknown key "0.25"/],
    ["replaces_empty", /should not have an empty replaces entry/],
    ["replaces_self", /replaces should not contain its own name 'self'/],
    ["unlimited_with_unit", /should not specify rate limit unit when unlimited/],
  ];
  for (const [file, what] of faults) {
    test(`${file}.yaml is refused with the fault's name and place`, () => {
      assert.match(messages([`tests-invalid/${file}.yaml`]), what);
    });
  }

  test("a name that every object has is not a unit", () => {
    for (const unit of ["constructor", "__proto__"]) {
      const limit = `{ unit: ${unit}, requests_per_unit: 0 }`;
      const text = `domain: d\ndescriptors: [{ key: a, rate_limit: ${limit} }]\n`;
      const { rules, problems } = readRules([{ name: "d.yaml", text }], yaml);
      assert.equal(rules, undefined);
      assert.match(
        problems.map(problemText).join(),
        new RegExp(`invalid rate limit unit '${unit}'`),
      );
    }
  });

  test("a domain of another file is refused", () => {
    const text = messages(["tests-valid/basic_config.yaml", "tests-invalid/duplicate_domain.yaml"]);
    assert.match(text, /duplicate_domain.yaml:1:9: error: domain: duplicate domain 'test-domain'/);
  });

  test("every invalid file of the vectors is refused in its last file", () => {
    for (const { files } of vectors.invalid) {
      assert.ok(messages(files).includes(files.at(-1)!.split("/").at(-1)!));
    }
  });
});
