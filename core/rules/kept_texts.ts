/*
 * Keeps texts that are made of recurring values. Concatenating a text costs little, but looking the
 * new text up in a map needs its hash, which takes longer than the rest of a call. So a text is
 * kept by the value that it was made of, because the hash of that value is often known.
 */

/** A text that is longer is not kept: values may come from attackers. */
const LONGEST = 128;

/** Makes a function of a value that keeps what it returned for as long as there is room. */
export type KeepTexts = (make: (value: string) => string) => (value: string) => string;

/**
 * Makes functions that keep texts, with a common bound. When there are too many texts, all are
 * forgotten; texts that are needed often soon come back.
 *
 * @param most The most texts.
 */
export function keptTexts(most: number): KeepTexts {
  let [size, round] = [0, 0];
  return (make) => {
    let known: Map<string, string> | undefined;
    let ownRound = -1;

    function makeAndKeep(value: string): string {
      const text = make(value);
      if (text.length > LONGEST) return text;
      if (size === most) {
        size = 0;
        round++;
      }
      if (known === undefined || ownRound !== round) {
        known = new Map();
        ownRound = round;
      }
      known.set(value, text);
      size++;
      return text;
    }

    return function textOf(value) {
      const text = known?.get(value);
      return text === undefined || ownRound !== round ? makeAndKeep(value) : text;
    };
  };
}
