import type { CompareAndSet, DriverCell } from "../../../stores/driver.ts";

/** A database in a map. */
export interface MapDriver extends CompareAndSet {
  readonly texts: Map<string, string>;
  /** How many keys were written. */
  writes: number;
}

/** Makes a driver that compares and sets in a map, a turn of the event loop later. */
export function mapDriver(texts: Map<string, string> = new Map<string, string>()): MapDriver {
  const textOf = (key: string) => texts.get(key) ?? "";
  function write({ key, held, next }: DriverCell): void {
    if (next === held) return;
    driver.writes++;
    if (next === "") texts.delete(key);
    else texts.set(key, next);
  }
  const driver: MapDriver = {
    name: "The map",
    texts,
    writes: 0,
    async commit(groups) {
      await new Promise((resolve) => setImmediate(resolve));
      const lost = groups.flatMap((cells, group) => {
        if (cells.every(({ key, held }) => textOf(key) === held)) {
          cells.forEach(write);
          return [];
        }
        return [{ group, held: cells.map(({ key }) => textOf(key)) }];
      });
      return { now: Date.now(), lost };
    },
    list: (beginning, after, most) =>
      [...texts]
        .filter(([key]) => key.startsWith(beginning) && key > after)
        .sort(([one], [other]) => one < other ? -1 : 1)
        .slice(0, most),
    deletePrefix(beginning) {
      for (const key of texts.keys()) if (key.startsWith(beginning)) texts.delete(key);
    },
  };
  return driver;
}
