import { describe, test } from "node:test";

import { ENDINGS } from "./adapter_endings.ts";
import { FAILURES, GATE_FAILURES } from "./adapter_failures.ts";
import { LIMITS } from "./adapter_limits.ts";
import { PERMITS } from "./adapter_permits.ts";
import { type AdapterSubject, type AdapterTests, appOf } from "./adapter_subject.ts";
import { GATE_VERDICTS, OPTIONS, VERDICTS } from "./adapter_verdicts.ts";

export { type AdapterSubject, type AnyOptions, apiLimiter } from "./adapter_subject.ts";

/**
 * The behaviour of every inbound adapter, with the real framework over a real socket: how it reads
 * requests, writes verdicts and ends them.
 */
export function describeAdapter(name: string, subject: AdapterSubject): void {
  describeTests(name, subject, { ...VERDICTS, ...OPTIONS, ...FAILURES, ...ENDINGS });
}

/** How requests end, where the framework writes verdicts and errors in a way of its own. */
export function describeEndings(name: string, subject: AdapterSubject): void {
  describeTests(name, subject, ENDINGS);
}

/** The laws of the gate, which is the same behind every adapter: one kind of server is enough. */
export function describeGate(name: string, subject: AdapterSubject): void {
  describeTests(name, subject, { ...LIMITS, ...PERMITS, ...GATE_VERDICTS, ...GATE_FAILURES });
}

function describeTests(name: string, subject: AdapterSubject, tests: AdapterTests): void {
  describe(name, () => {
    for (const [what, run] of Object.entries(tests)) test(what, () => run(appOf(subject)));
  });
}
