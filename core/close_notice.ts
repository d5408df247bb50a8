/** Announces once that a store was closed. */
export interface CloseNotice {
  /** A store's `onClose`. */
  onClose(ended: () => void): void;
  /** Calls all functions that were given to `onClose`. A second call does nothing. */
  announce(): void;
}

/** Makes the `onClose` of a store; its `close` announces. */
export function closeNotice(): CloseNotice {
  const listeners = new Set<() => void>();
  let isClosed = false;
  return {
    onClose(ended) {
      if (isClosed) ended();
      else listeners.add(ended);
    },
    announce() {
      isClosed = true;
      for (const ended of listeners) {
        listeners.delete(ended);
        ended();
      }
    },
  };
}
