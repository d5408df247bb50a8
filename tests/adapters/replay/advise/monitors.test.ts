import assert from "node:assert/strict";
import { test } from "node:test";

import { monitorsOf } from "../../../../adapters/replay/advise/monitors.ts";
import { WRITES } from "../../../../adapters/replay/log/request_fields.ts";
import type { Trace } from "../../../../adapters/replay/log/trace.ts";

/** Whether a client that comes at equal distances is a monitor, by the marks of its requests. */
function isMonitor(marks: readonly number[]): boolean {
  const trace = { counts: [marks.length], marks: Uint8Array.from(marks) } as unknown as Trace;
  const regular = Uint8Array.of(1);
  return monitorsOf(trace, { regular } as Parameters<typeof monitorsOf>[1])[0] === 1;
}

const pages = (...paths: readonly number[]) => paths.map((path) => path << 2);

test("a monitor asks for three pages at most, whichever they are", () => {
  assert.equal(isMonitor(pages(0, 33, 0, 63)), true);
  assert.equal(isMonitor(pages(0, 1, 32, 33)), false);
});

test("a monitor writes nothing", () => {
  assert.equal(isMonitor([...pages(0, 0), WRITES]), false);
});
