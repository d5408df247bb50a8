/*
 * How the states of one algorithm lie in cells of 64 bits:
 *
 *   a number                        1 cell
 *   an object that a codec writes   1 cell for how many words it took, and as many as it may take
 *   a window in a segment tree      2 cells (`tree_cells.ts`)
 *   a log as running totals         1 cell (`totals_cells.ts`)
 *   `all`                           the cells of its parts
 */

import type { Algorithm } from "../../../core/algorithm.ts";
import type { CellType } from "../memory/node_shape.ts";
import { TORN } from "./stored_timeline.ts";

/** How states lie in cells, of a block or of an array that a chain is copied to. */
export interface CellLayout {
  readonly types: readonly CellType[];
  load(ints: Int32Array, floats: Float64Array, at: number): unknown;
  /** Writes a state; `old` is where the replaced one lies in the same arrays, -1 if there is none. */
  save(state: unknown, ints: Int32Array, floats: Float64Array, at: number, old: number): void;
}

/** A state that is one number. */
export const numberCells: CellLayout = {
  types: [0],
  load: (_ints, floats, at) => floats[at],
  save(state, _ints, floats, at) {
    floats[at] = state as number;
  },
};

/** A state that the algorithm's codec writes as words. */
export function codecCells({ codec }: Algorithm): CellLayout {
  return {
    types: new Array(1 + codec.maxWords).fill(0),
    load(_ints, floats, at) {
      const words = floats[at]!;
      if (!(words >= 0 && words <= codec.maxWords)) throw TORN;
      return codec.read(floats, at + 1, words);
    },
    save(state, _ints, floats, at) {
      floats[at] = codec.write(state, floats, at + 1);
    },
  };
}

/** The states of the parts of `all`, one after the other. */
export function cellsOfAll(algorithm: Algorithm, parts: readonly CellLayout[]): CellLayout {
  const initial = algorithm.initial as readonly unknown[];
  const starts: number[] = [];
  let cells = 0;
  for (const part of parts) {
    starts.push(cells);
    cells += part.types.length;
  }
  return {
    types: parts.flatMap((part) => part.types),
    load(ints, floats, at) {
      const states = parts.map((part, place) => part.load(ints, floats, at + starts[place]!));
      if (states.includes(undefined)) return undefined;
      return states.every((state, place) => state === initial[place]) ? initial : states;
    },
    save(state, ints, floats, at, old) {
      const states = state as readonly unknown[];
      parts.forEach((part, place) => {
        const start = starts[place]!;
        part.save(states[place], ints, floats, at + start, old === -1 ? -1 : old + start);
      });
    },
  };
}
