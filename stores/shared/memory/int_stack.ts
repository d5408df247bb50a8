/*
 * A stack of whole numbers in an array of their own kind: an ordinary array takes twice the time.
 */

/** A stack of whole numbers. */
export interface IntStack {
  size(): number;
  /** Whether an item is among the last ones. */
  has(item: number, last: number): boolean;
  clear(): void;
  push(item: number): void;
  /** Takes the item on top of a stack that is not empty. */
  pop(): number;
}

/** An empty stack. */
export function intStack(): IntStack {
  let items = new Int32Array(512);
  let size = 0;
  return {
    size: () => size,
    has(item, last) {
      for (let place = size - 1; place >= 0 && place >= size - last; place--) {
        if (items[place] === item) return true;
      }
      return false;
    },
    clear() {
      size = 0;
    },
    push(item) {
      if (size === items.length) {
        const larger = new Int32Array(2 * size);
        larger.set(items);
        items = larger;
      }
      items[size++] = item;
    },
    pop: () => items[--size]!,
  };
}
