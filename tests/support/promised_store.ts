import type { AsyncStore, SyncStore } from "../../mod.ts";
import { type Answers, probe } from "../stores/layered/probe.ts";

/** Answers that are held back until a test lets them come. */
export interface Held {
  /** Lets all answers come that are held back. */
  release(): void;
  /** Lets the last of them come. */
  releaseLast(): void;
  /** How many are held back. */
  count(): number;
}

/** A store that decides at once, and answers when it is let. */
export function promised(inner: SyncStore): { store: AsyncStore; held: Held } {
  const waiting: (() => void)[] = [];
  const answers: Answers = (make) => {
    const value = make();
    return new Promise((resolve) => waiting.push(() => resolve(value))) as never;
  };
  return {
    store: probe(answers, inner).store as unknown as AsyncStore,
    held: {
      release: () => waiting.splice(0).forEach((answer) => answer()),
      releaseLast: () => waiting.pop()?.(),
      count: () => waiting.length,
    },
  };
}
