import assert from "node:assert/strict";
import { test } from "node:test";

import { hashSlot } from "../../../../stores/redis/routing/hash_slot.ts";

test("a key's slot is that of the specification", () => {
  // The check value of CRC-16/XMODEM is 0x31c3; a server gave the others.
  assert.equal(hashSlot("123456789"), 0x31c3);
  assert.equal(hashSlot("foo"), 12182);
  assert.equal(hashSlot("foo{bar}baz"), hashSlot("bar"));
  assert.equal(hashSlot("foo{}{bar}"), 8363);
  assert.equal(hashSlot("foo{{bar}}zap"), hashSlot("{bar"));
  assert.equal(hashSlot("foo{bar}{zap}"), hashSlot("bar"));
});
