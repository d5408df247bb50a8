import type { AsyncStore } from "../../mod.ts";
import { byPromise, probe } from "../stores/layered/probe.ts";

/** A memory store that answers by promises. */
export function asyncMemoryStore(): AsyncStore {
  return probe(byPromise).store as unknown as AsyncStore;
}
