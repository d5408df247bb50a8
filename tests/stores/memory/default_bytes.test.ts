import assert from "node:assert/strict";
import { test } from "node:test";

import { bytesBy } from "../../../stores/memory/default_bytes.ts";

const MB = 2 ** 20;
const v8 = (heap_size_limit: number) => ({
  getBuiltinModule: () => ({ getHeapStatistics: () => ({ heap_size_limit }) }),
});
const unavailable = () => {
  throw new Error("not permitted");
};

test("a store takes a quarter of the heap that the runtime reports, and 64 MiB if it reports none", () => {
  // As Node 24 says it of heaps of 256 and 32 MiB, beside young objects.
  assert.equal(bytesBy({ process: v8(448 * MB) }), 64 * MB);
  assert.equal(bytesBy({ process: v8(224 * MB) }), 8 * MB);
  assert.equal(bytesBy({ process: v8(128 * MB) }), 4 * MB);
  assert.equal(bytesBy({ process: { constrainedMemory: () => 512 * MB }, Bun: {} }), 128 * MB);
  assert.equal(bytesBy({ performance: { memory: { jsHeapSizeLimit: 4_288 * MB } } }), 1_024 * MB);
  // Bun imitates `node:v8`, and its figure is what the heap takes now.
  assert.equal(bytesBy({ process: v8(256 * MB), Bun: {} }), 64 * MB);
  assert.equal(bytesBy({ process: { constrainedMemory: () => 2 ** 63 }, Bun: {} }), 64 * MB);
  // Deno asks for a permission before it answers.
  assert.equal(bytesBy({ process: { constrainedMemory: unavailable } }), 64 * MB);
  for (const process of [undefined, {}, { getBuiltinModule: () => undefined }]) {
    assert.equal(bytesBy({ ...(process && { process }) }), 64 * MB);
  }
  assert.equal(bytesBy({ process: { getBuiltinModule: unavailable } }), 64 * MB);
});
