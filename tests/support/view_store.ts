import { wrapStore } from "../../core/wrap_store.ts";
import type { Timeline } from "../../core/timeline/timeline.ts";
import { memoryStore, type SyncStore } from "../../mod.ts";
import type { Steps } from "../../core/store.ts";

/**
 * The memory store, but what verbs are given of it is good only until they have answered: like the
 * views of a store in shared memory, which other threads write.
 */
export function viewStore(): SyncStore {
  const store = memoryStore();
  return wrapStore(store, {
    open: (spec) => {
      const family = store.open(spec);
      return {
        ...family,
        bind: (verb) => family.bind({ ...verb, on: (algorithm) => viewing(verb.on(algorithm)) }),
      };
    },
  }) as SyncStore;
}

/** The same steps, on views that end with the answer. */
function viewing<Argument, Answer>(
  steps: Steps<Argument, Answer>,
): Steps<Argument, Answer> {
  return {
    next(state, now, argument) {
      const lease = { ended: false };
      const view = viewOf(state, lease);
      const next = steps.next(view, now, argument);
      return next === view ? state : next;
    },
    answer(state, next, now, argument) {
      const lease = { ended: false };
      const view = viewOf(state, lease);
      const after = next === state ? view : next;
      try {
        return steps.answer(view, after, now, argument);
      } finally {
        lease.ended = true;
      }
    },
  };
}

/** A view of the timelines in a state. States of numbers are values. */
function viewOf(state: unknown, lease: { readonly ended: boolean }): unknown {
  if (Array.isArray(state)) return state.map((part) => viewOf(part, lease));
  const { covered } = state as { readonly covered?: unknown };
  if (covered !== undefined) return { ...state as object, covered: viewOf(covered, lease) };
  return isTimeline(state) ? timelineView(state, lease) : state;
}

function isTimeline(state: unknown): state is Timeline {
  return typeof (state as Partial<Timeline> | undefined)?.since === "function";
}

function timelineView(timeline: Timeline, lease: { readonly ended: boolean }): Timeline {
  function held(): Timeline {
    if (lease.ended) throw new Error("Cannot read a state of an ended call");
    return timeline;
  }
  return {
    get newest() {
      return held().newest;
    },
    since: (bucket) => held().since(bucket),
    leaves: (units) => held().leaves(units),
    add: (bucket, units, oldest) => held().add(bucket, units, oldest),
    takeBack: (units) => held().takeBack(units),
    none: () => held().none(),
  };
}
