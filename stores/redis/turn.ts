/** Waits for the next turn of the event loop: what is due until then, and what is to be written. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
