import type { VirtualClock } from "../../adapters/testing/testing.ts";
import { wrapStore } from "../../core/wrap_store.ts";
import { type AsyncStore, type Store, StoreUnavailableError, type SyncStore } from "../../mod.ts";

/**
 * A network from a process to a store, whose own time decides: it loses messages and answers, doubles
 * them, delivers some of them long after they were sent, and now and then none for a while.
 *
 * @param span Milliseconds; an eighth of it is waited for an answer, and twice as long may a message be
 * under way.
 * @param onArrival Called for each message that arrives.
 * @param hears Whether the process still lives: a dead one hears no answer, and sends nothing after it.
 */
export function networkTo(
  inner: SyncStore,
  clock: VirtualClock,
  random: () => number,
  span: number,
  onArrival: () => void = () => {},
  hears: () => boolean = () => true,
): AsyncStore {
  const timeout = Math.max(4, Math.ceil(span / 8));
  /** Now and then nothing comes through for a while. */
  let cutUntil = 0;
  const soon = () => Math.floor(random() * Math.min(8, timeout / 2));

  function send(call: () => unknown, answered: (answer: unknown) => void): void {
    if (random() < 1 / 60) cutUntil = clock() + random() * 1.5 * span;
    if (clock() < cutUntil || random() < 0.05) return;
    const isLate = random() < 0.05;
    clock.after(isLate ? Math.floor(random() * 2 * span) : soon(), () => {
      onArrival();
      const answer = call();
      if (random() >= 0.05) clock.after(soon(), () => answered(answer));
    });
  }

  return wrapStore(inner as Store, {
    call: (bound) => (key, argument) =>
      new Promise((resolve, reject) => {
        const call = () => bound.call(key, argument, clock());
        const cancel = clock.after(timeout, () => {
          if (!hears()) return;
          reject(
            new StoreUnavailableError("Cannot decide as the network must be there", "unknown"),
          );
        });
        send(call, (answer) => {
          if (!hears()) return;
          cancel();
          resolve(answer);
        });
        if (random() < 0.1) send(call, () => {});
      }),
  }) as AsyncStore;
}
