/*
 * The laws of codecs: a state survives a round trip as words and as text, and foreign input never
 * becomes a false state. Stores read what other versions and other processes have written.
 */

import fc from "fast-check";
import type { Algorithm } from "../../../core/algorithm.ts";
import type { Subject } from "../arbitraries/subjects.ts";
import { difference, laterInstants, sameState, type VisitCheck, type VisitLaw } from "./visits.ts";

/** Where a law writes: the words before and after the state must not change. */
const OFFSET = 3;
const UNTOUCHED = -0.5;
/** States in a schedule stay below this many words, even where `maxWords` is huge. */
const ROOM = 4_096;

/** How states are kept. */
export const codecLaws: readonly VisitLaw[] = [
  {
    name: "a state reads back from its text, which is versioned and canonical",
    check: (subject) => (visit, expect) => {
      const { codec } = subject.algorithm;
      const text = codec.encode(visit.after);
      expect(/^[a-z]+[0-9]+( |$)/.test(text), () => `a letter and a version in ${text}`);
      const read = codec.decode(text);
      expect(read !== undefined, () => `${text} to be read`);
      expect(codec.encode(read) === text, () => `${text}, not ${codec.encode(read)}`);
      const found = difference(subject, visit.after, read, laterInstants(subject, visit));
      expect(found === undefined, () => `of ${text}, ${found}`);
    },
  },
  {
    name: "a state reads back from its words, which lie where they should",
    check(subject) {
      const { codec } = subject.algorithm;
      const words = wordsFor(subject);
      return (visit, expect) => {
        const count = codec.write(visit.after, words.fill(UNTOUCHED), OFFSET);
        const lawful = count >= 1 && count <= codec.maxWords && Number.isInteger(count);
        expect(lawful, () => `1 to ${codec.maxWords} words, not ${count}`);
        const around = words.every((word, i) =>
          word === UNTOUCHED || (i >= OFFSET && i < OFFSET + count)
        );
        expect(around, () => `nothing written but words ${OFFSET} to ${OFFSET + count - 1}`);
        const read = codec.read(words, OFFSET, count);
        expect(read !== undefined, () => `${count} words to be read`);
        expect(sameState(subject, read, visit.after), "the same state from its words");
        const found = difference(subject, visit.after, read, laterInstants(subject, visit));
        expect(found === undefined, () => `from words, ${found}`);
      };
    },
  },
  {
    name: "words of another shape read as undefined, or as a state that has those words",
    check(subject) {
      const { codec, capacity } = subject.algorithm;
      const words = wordsFor(subject);
      return ({ after }, expect) => {
        const count = codec.write(after, words.fill(UNTOUCHED), OFFSET);
        for (const other of [0, count - 1, count + 1]) {
          expect(isTrue(subject, words, other), () => `no false state of ${other} words`);
        }
        for (let i = OFFSET; i < OFFSET + count; i++) {
          const word = words[i] as number;
          for (const strange of [NaN, Infinity, -1, 0.5, -word, word + 1, capacity + 1, 2 ** 60]) {
            words[i] = strange;
            expect(isTrue(subject, words, count), () => `no false state with ${strange}`);
          }
          words[i] = word;
        }
      };
    },
  },
];

/** An edit to the text of a state, and an unrelated text. */
export interface TextChange {
  readonly at: number;
  readonly cut: number;
  readonly put: string;
  readonly other: string;
}

/** Draws changes that often leave the shape of a state's text. */
export function textChanges(): fc.Arbitrary<TextChange> {
  return fc.record({
    at: fc.nat(),
    cut: fc.nat({ max: 3 }),
    put: fc.oneof(fc.string({ maxLength: 3 }), fc.stringMatching(/^[0-9 :]{1,4}$/)),
    other: fc.oneof(fc.string(), fc.stringMatching(/^[a-z][0-9]( -?[0-9.e+:]{1,18}){0,4} ?$/)),
  });
}

/** Checks texts that are close to the texts of states, and unrelated ones. */
export function textCheck({ algorithm }: Subject, change: TextChange): VisitCheck {
  const { codec } = algorithm;
  return ({ after }, expect) => {
    const text = codec.encode(after);
    const start = change.at % (text.length + 1);
    const edited = text.slice(0, start) + change.put + text.slice(start + change.cut);
    const padded = paddedText(text, change.at);
    const around = [` ${text}`, `${text} `, `${text}\n`, `${text} 0`];
    for (const near of [edited, padded, ...around, change.other, ""]) {
      const state = codec.decode(near);
      const sound = state === undefined ||
        isSound(algorithm, state) && codec.encode(state) === near;
      expect(sound, () => `no false state of ${fc.stringify(near)}`);
    }
  };
}

/** The text with a zero before one of its numbers: the number is the same, and the text is not. */
function paddedText(text: string, at: number): string {
  const numbers = [...text.matchAll(/\d+/g)];
  if (numbers.length === 0) return text;
  const { index } = numbers[at % numbers.length]!;
  return `${text.slice(0, index)}0${text.slice(index)}`;
}

function wordsFor({ algorithm }: Subject): Float64Array {
  return new Float64Array(Math.min(algorithm.codec.maxWords, ROOM) + 2 * OFFSET);
}

/** Whether words read as nothing, or as a sound state with exactly those words. */
function isTrue({ algorithm }: Subject, words: Float64Array, count: number): boolean {
  const { codec } = algorithm;
  const state = codec.read(words, OFFSET, count);
  if (state === undefined) return true;
  const written = new Float64Array(words.length);
  const length = codec.write(state, written, 0);
  return isSound(algorithm, state) && length === count &&
    written.subarray(0, count).every((word, i) => word === words[OFFSET + i]);
}

/** Whether a state that was read answers within the range of those that steps reach. */
function isSound({ step, capacity }: Algorithm, state: unknown): boolean {
  const { remaining, nextAfter, resetAfter } = step(state, 0, 0)[0];
  return Number.isInteger(remaining) && remaining >= 0 && remaining <= capacity &&
    nextAfter >= 0 && resetAfter >= 0;
}
