/** The first few items in an order, kept without sorting all of them. */
export interface FirstFew<Item extends Ranked, Ranked = Item> {
  /** Adds an item, which is only made if it may be one of them. */
  add(ranked: Ranked, make: () => Item): void;
  /** The first few of those that were added. */
  items(): readonly Item[];
}

/** Keeps the first `most` items; among equal items, those that came first. */
export function firstFew<Item extends Ranked, Ranked = Item>(
  most: number,
  order: (one: Ranked, other: Ranked) => number,
): FirstFew<Item, Ranked> {
  let found: Item[] = [];
  let last: Item | undefined;
  const items = () => found.sort(order).slice(0, most);
  return {
    add(ranked, make) {
      if (most === 0 || (last !== undefined && order(ranked, last) >= 0)) return;
      found.push(make());
      if (found.length < 2 * most + 100) return;
      found = items();
      last = found.at(-1);
    },
    items,
  };
}
