import assert from "node:assert/strict";
import { test } from "node:test";

import { engineOptions } from "../../../stores/optimistic/engine_options.ts";

test("the defaults of the time that a call may take follow one another", () => {
  const table = [
    [{}, [200, 250, 1_000, 250]],
    [{ timeout: 900 }, [200, 900, 1_000, 900]],
    [{ deadline: 100, timeout: 900 }, [100, 100, 1_000, 900]],
    [{ deadline: 5_000 }, [5_000, 5_000, 5_000, 5_000]],
  ] as const;
  for (const [given, expected] of table) {
    const { deadline, longestDeadline, connectDeadline, timeout } = engineOptions(given);
    assert.deepEqual([deadline, longestDeadline, connectDeadline, timeout], expected);
  }
});
