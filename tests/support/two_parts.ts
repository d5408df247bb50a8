/** A stream of `one`, and once `flow()` is kept `two`. */
export function twoParts(flow: () => Promise<void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(encoder.encode("one"));
      await flow();
      controller.enqueue(encoder.encode("two"));
      controller.close();
    },
  });
}
