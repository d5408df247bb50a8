/** The first few items in an order, kept without sorting all of them. */
export interface FirstFew<Item extends Ranked, Ranked = Item> {
  /** Whether an item may be one of them. */
  admits(item: Ranked): boolean;
  add(item: Item): void;
  /** The first few of those that were added. */
  items(): readonly Item[];
}

/** Keeps the first `most` items; of equal ones those that came first. */
export function firstFew<Item extends Ranked, Ranked = Item>(
  most: number,
  order: (one: Ranked, other: Ranked) => number,
): FirstFew<Item, Ranked> {
  let found: Item[] = [];
  let last: Item | undefined;
  const items = () => found.sort(order).slice(0, most);
  return {
    admits: (item) => most > 0 && (last === undefined || order(item, last) < 0),
    add(item) {
      found.push(item);
      if (found.length < 2 * most + 100) return;
      found = items();
      last = found.at(-1);
    },
    items,
  };
}
