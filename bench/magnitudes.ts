import { linear, type Scale } from "../adapters/replay/output/plots/axis.ts";

/** Powers of ten, with 2 and 5 between them where there is room. */
export function magnitudes(from: number, to: number): readonly number[] {
  const factors = Math.log10(to / from) > 4 ? [1] : [1, 2, 5];
  const values: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
    for (const factor of factors) {
      const value = Number((factor * 10 ** power).toPrecision(1));
      if (value >= from && value <= to) values.push(value);
    }
  }
  return values;
}

/** A logarithmic scale; values below `from` are drawn at `from`. */
export function logarithmic(from: number, to: number, start: number, end: number): Scale {
  const scale = linear(Math.log(from), Math.log(Math.max(to, from * 1.001)), start, end);
  return (value) => scale(Math.log(Math.max(value, from)));
}
