/*
 * Random commits on a few keys, and a map that says what they come to.
 */

import fc from "fast-check";
import type { DriverCell } from "../../../stores/driver.ts";
import { type Commit, timeOf } from "./driver_commit.ts";

/** A change of one key. */
interface Change {
  /** Which of the keys. */
  readonly key: number;
  /** Whether the text that it holds is expected, or another. */
  readonly isRight: boolean;
  /** The text to be written; `"same"`: the one that is expected. */
  readonly next: string;
}

/** Commits in turn; each has groups, and no key is in two of them. */
export type CommitCase = readonly (readonly (readonly Change[])[])[];

/** A commit, and what it should have come to. */
export interface CommitStep {
  /** Places of the groups that were lost. */
  readonly lost: readonly number[];
  /** Places of those that should be. */
  readonly wantedLost: readonly number[];
  /** The texts that lost groups were given, as JSON. */
  readonly told: string;
  /** The texts that they should be given. */
  readonly wantedTold: string;
  /** All keys. */
  readonly keys: readonly string[];
  /** The texts that they should hold. */
  readonly wantedTexts: readonly string[];
}

const KEYS = 5;

/** Random commits. */
export function commitCases(): fc.Arbitrary<CommitCase> {
  const change = fc.record({
    isRight: fc.oneof({ arbitrary: fc.constant(true), weight: 4 }, fc.constant(false)),
    next: fc.constantFrom("g1:1", "g1:2", "g1:10", "", "same"),
  });
  const commit = fc.tuple(
    fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 1 }),
    fc.array(change, { minLength: KEYS, maxLength: KEYS }),
    fc.array(fc.boolean(), { minLength: KEYS, maxLength: KEYS }),
  ).map(([keys, changes, begins]) => {
    const groups: Change[][] = [];
    for (const [index, key] of keys.entries()) {
      if (index === 0 || begins[index]) groups.push([]);
      groups.at(-1)!.push({ ...changes[index]!, key });
    }
    return groups;
  });
  return fc.array(commit, { minLength: 1, maxLength: 8 });
}

/** Makes commits by several drivers in turn, and checks each. */
export async function commitInTurn(
  commits: readonly Commit[],
  keyOf: (name: string) => string,
  steps: CommitCase,
  check: (step: CommitStep) => void | Promise<void>,
): Promise<void> {
  const keys = Array.from({ length: KEYS }, (_, index) => keyOf(String(index)));
  const texts = keys.map(() => "");
  const freshAt = await timeOf(commits[0]!) + 600_000;
  for (const [turn, groups] of steps.entries()) {
    const cells = groups.map((changes) => changes.map((change) => cellOf(change)));
    const { lost } = await commits[turn % commits.length]!(cells);
    const wanted = groups.flatMap((changes, group) =>
      changes.every(({ isRight }) => isRight)
        ? []
        : [{ group, held: changes.map(({ key }) => texts[key]!) }]
    );
    for (const [group, changes] of groups.entries()) {
      if (wanted.some((one) => one.group === group)) continue;
      for (const [at, { key }] of changes.entries()) texts[key] = cells[group]![at]!.next;
    }
    const sorted = [...lost].sort((a, b) => a.group - b.group);
    await check({
      lost: sorted.map(({ group }) => group),
      wantedLost: wanted.map(({ group }) => group),
      told: JSON.stringify(sorted.map(({ held }) => held)),
      wantedTold: JSON.stringify(wanted.map(({ held }) => held)),
      keys,
      wantedTexts: [...texts],
    });
  }

  function cellOf({ key, isRight, next }: Change): DriverCell {
    const held = isRight ? texts[key]! : `${texts[key]}0`;
    const text = next === "same" ? held : next;
    return {
      key: keys[key]!,
      held,
      next: text,
      freshAt: text === held || text === "" ? 0 : freshAt,
    };
  }
}
