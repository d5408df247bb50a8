import type { Algorithm } from "../../../core/algorithm.ts";
import type { Subject } from "../arbitraries/subject.ts";
import { difference, laterInstants, sameState } from "./probes.ts";
import type { VisitLaw } from "./visit_law.ts";

/** Where a law writes: words before and after the state must stay as they are. */
const OFFSET = 3;
const UNTOUCHED = -0.5;
/** States of the visits take fewer words than this, whatever the most is. */
const ROOM = 4_096;

/** How states are kept. */
export const codecLaws: readonly VisitLaw[] = [
  {
    name: "a state reads back from its text, which is versioned and canonical",
    check(subject, visits, expect) {
      const { codec } = subject.algorithm;
      for (const visit of visits) {
        const text = codec.encode(visit.after);
        expect(visit, /^[a-z]+[0-9]+( |$)/.test(text), () => `a letter and a version in ${text}`);
        const read = codec.decode(text);
        expect(visit, read !== undefined, () => `${text} to be read`);
        expect(visit, codec.encode(read) === text, () => `${text}, not ${codec.encode(read)}`);
        const found = difference(subject, visit.after, read, laterInstants(subject, visit));
        expect(visit, found === undefined, () => `of ${text}, ${found}`);
      }
    },
  },
  {
    name: "a state reads back from its words, which lie where they should",
    check(subject, visits, expect) {
      const { codec } = subject.algorithm;
      const words = new Float64Array(Math.min(codec.maxWords, ROOM) + 2 * OFFSET);
      for (const visit of visits) {
        words.fill(UNTOUCHED);
        const count = codec.write(visit.after, words, OFFSET);
        const lawful = count >= 1 && count <= codec.maxWords && Number.isInteger(count);
        expect(visit, lawful, () => `1 to ${codec.maxWords} words, not ${count}`);
        const around = words.every((word, i) =>
          word === UNTOUCHED || (i >= OFFSET && i < OFFSET + count)
        );
        expect(visit, around, () => `nothing written but words ${OFFSET} to ${OFFSET + count - 1}`);
        const read = codec.read(words, OFFSET, count);
        expect(visit, read !== undefined, () => `${count} words to be read`);
        expect(visit, sameState(subject, read, visit.after), "the same state from its words");
        const found = difference(subject, visit.after, read, laterInstants(subject, visit));
        expect(visit, found === undefined, () => `from words, ${found}`);
      }
    },
  },
  {
    name: "words of another shape read as undefined, or as a state that has those words",
    check(subject, visits, expect) {
      const { codec, capacity } = subject.algorithm;
      const words = new Float64Array(Math.min(codec.maxWords, ROOM) + 2 * OFFSET);
      for (const visit of visits) {
        words.fill(UNTOUCHED);
        const count = codec.write(visit.after, words, OFFSET);
        for (const other of [0, count - 1, count + 1]) {
          expect(visit, isTrue(subject, words, other), () => `no false state of ${other} words`);
        }
        for (let i = OFFSET; i < OFFSET + count; i++) {
          const word = words[i] as number;
          for (const strange of [NaN, Infinity, -1, 0.5, -word, word + 1, capacity + 1, 2 ** 60]) {
            words[i] = strange;
            expect(visit, isTrue(subject, words, count), () => `no false state with ${strange}`);
          }
          words[i] = word;
        }
      }
    },
  },
];

/** Whether words read as nothing, or as a sound state that has just those words. */
function isTrue({ algorithm }: Subject, words: Float64Array, count: number): boolean {
  const { codec } = algorithm;
  const state = codec.read(words, OFFSET, count);
  if (state === undefined) return true;
  const written = new Float64Array(count + 1);
  const length = codec.write(state, written, 0);
  return isSound(algorithm, state) && length === count &&
    written.subarray(0, count).every((word, i) => word === words[OFFSET + i]);
}

/** Whether a text reads as nothing, or as a sound state that has just that text. */
export function isTrueText({ algorithm }: Subject, text: string): boolean {
  const state = algorithm.codec.decode(text);
  if (state === undefined) return true;
  return isSound(algorithm, state) && algorithm.codec.encode(state) === text;
}

/** Whether a state that was read answers as one that was reached. */
function isSound({ step, capacity }: Algorithm, state: unknown): boolean {
  const { remaining, nextAfter, resetAfter } = step(state, 0, 0)[0];
  return Number.isInteger(remaining) && remaining >= 0 && remaining <= capacity &&
    nextAfter >= 0 && resetAfter >= 0;
}
