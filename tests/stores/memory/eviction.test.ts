import assert from "node:assert/strict";
import { test } from "node:test";

import { memoryStore } from "../../../mod.ts";
import {
  EVICTION_LIMIT,
  evictionSubjects,
  guessesAdmitted,
  refusedKeysFreed,
} from "../../support/eviction_law.ts";
import { fcOptions } from "../../support/seed.ts";
import { fullStoreLaws } from "./support/full_store_laws.ts";

const make = (maxKeys: number) => memoryStore({ maxKeys });
const subjects = Object.entries(evictionSubjects);

for (const law of fullStoreLaws) {
  const run = async () => await law.run(fcOptions({ numRuns: 10 }));
  test(`a full memoryStore: ${law.name}`, run);
}

for (const subject of subjects) {
  const [name, algorithm] = subject;
  const run = () => {
    for (const within of [0, 3_600_000]) {
      const { admitted, due } = guessesAdmitted(make, algorithm, { capacity: 300, within });
      assert.ok(admitted <= due + EVICTION_LIMIT, `${admitted} admitted and ${due} due`);
    }
    for (const refused of [3, 150, 297]) {
      assert.equal(refusedKeysFreed(make, algorithm, { capacity: 300, refused }), 0);
    }
    return Promise.resolve();
  };
  test(`a flood of keys used once frees nobody: ${name}`, run);
}

test("a flood of five times the capacity buys no guess at a password", () => {
  const attack = { capacity: 10_000, flood: 25_000 };
  const { admitted } = guessesAdmitted(make, evictionSubjects["fixedWindow"]!, attack);
  assert.equal(admitted, EVICTION_LIMIT);
});
