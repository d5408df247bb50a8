import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { countCases, failuresIn } from "../../.ci/junit.mjs";

describe("countCases", () => {
  test("counts single tests in Bun's report", () => {
    const xml = `<testsuites tests="3"><testsuite name="a.test.ts" tests="3">
      <testsuite name="group" tests="1"><testcase name="one" classname="group" /></testsuite>
      <testcase name="bad"><failure type="AssertionError" message="1 !== 2">at a</failure></testcase>
      <testcase name="later"><skipped /></testcase>
    </testsuite></testsuites>`;
    assert.deepEqual(countCases(xml), { passed: 1, failed: 1, skipped: 1 });
  });

  test("leaves out the groups of Deno's report", () => {
    const xml = `<testsuites><testsuite name="./a.test.ts" tests="2">
      <testcase name="group" classname="./a.test.ts" line="4"></testcase>
      <testcase name="alone" classname="./a.test.ts" line="9"></testcase>
    </testsuite><testsuite name="ext:deno_node/testing.ts" tests="3">
      <testcase name="group &gt; inner" classname="ext:deno_node/testing.ts"></testcase>
      <testcase name="group &gt; inner &gt; x" classname="ext:deno_node/testing.ts"></testcase>
      <testcase name="group &gt; y" classname="ext:deno_node/testing.ts"></testcase>
    </testsuite></testsuites>`;
    assert.deepEqual(countCases(xml), { passed: 3, failed: 0, skipped: 0 });
  });

  test("reads Node's report, which leaves a bare > in attributes", () => {
    const xml = `<testsuites><testsuite name="group" tests="1">
      <testcase name="two &amp; &lt;three>" time="0.1" classname="group" file="/a.test.ts"/>
      </testsuite>
      <testcase name="bad" failure="1 -> 2"><failure message="x">text</failure></testcase>
      </testsuites>`;
    assert.deepEqual(countCases(xml), { passed: 1, failed: 1, skipped: 0 });
  });
});

test("failuresIn names the tests that failed, and no group of theirs", () => {
  const xml = `<testsuites><testsuite name="./a.test.ts">
    <testcase name="group" classname="./a.test.ts"><failure message="1 step failed">x</failure></testcase>
    <testcase name="fine" classname="./a.test.ts"></testcase>
    </testsuite><testsuite name="ext:deno_node/testing.ts">
    <testcase name="group &gt; x" classname="ext:deno_node/testing.ts"><failure>y</failure></testcase>
    </testsuite></testsuites>`;
  assert.deepEqual(failuresIn(xml), ["group > x"]);
});
