/** The first few items in an order, without sorting all of them. */
export function firstFew<Item>(
  items: Iterable<Item>,
  most: number,
  order: (one: Item, other: Item) => number,
): readonly Item[] {
  let found: Item[] = [];
  let last: Item | undefined;
  for (const item of items) {
    if (last !== undefined && order(item, last) > 0) continue;
    found.push(item);
    if (found.length < 2 * most + 100) continue;
    found = found.sort(order).slice(0, most);
    last = found.at(-1);
  }
  return found.sort(order).slice(0, most);
}
