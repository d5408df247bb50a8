import type { AsyncStore } from "../../mod.ts";
import { byPromise, probe } from "../stores/layered/probe.ts";

/** The memory store as one that answers by promises. */
export function asyncMemoryStore(): AsyncStore {
  return probe(byPromise).store as unknown as AsyncStore;
}
