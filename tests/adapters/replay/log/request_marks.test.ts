import assert from "node:assert/strict";
import { test } from "node:test";

import { bothSeen } from "../../../../adapters/replay/log/request_marks.ts";

test("two parts of a log have been answered by 429 as often as both, and share their paths", () => {
  const one = { hasPaths: false, refused: 2, logins: [["/login", 3], ["/token", 1]] } as const;
  const other = { hasPaths: true, refused: 5, logins: [["/session", 9], ["/token", 6]] } as const;
  const logins = [["/session", 9], ["/token", 7], ["/login", 3]];
  assert.deepEqual(bothSeen(one, other), { hasPaths: true, refused: 7, logins });
  assert.deepEqual(bothSeen(undefined, other), other);
});

test("of the paths of two parts the most frequent are kept", () => {
  const pathsOf = (name: string, requests: number) =>
    Array.from({ length: 40 }, (_, index) => [`/${name}/${index}`, requests] as const);
  const seen = (name: string, requests: number) => ({
    ...{ hasPaths: true, refused: 0, logins: pathsOf(name, requests) },
  });
  const { logins } = bothSeen(seen("rare", 1), seen("frequent", 2))!;
  assert.deepEqual([logins.length, logins.filter(([, requests]) => requests === 2).length], [
    50,
    40,
  ]);
});
