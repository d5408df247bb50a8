import type { Decision } from "../../../core/decision.ts";
import type { Operation } from "../../../core/store.ts";
import type { Cell } from "./cell.ts";

/** What a call returns: a decision, those of several operations, or nothing if it forgets a key. */
export type Answer = Decision | readonly Decision[] | undefined;

/** Operations that are run all or nothing. */
export interface Several {
  readonly operations: readonly Operation[];
  /** Every stored key that is read or written. */
  readonly keys: readonly string[];
}

/** A turn of the event loop. */
export interface Turn {
  /** When it ended, by `performance.now`; `undefined` until then. */
  end: number | undefined;
}

/** A call on the store: what it is to do, and how far it has come. */
export type Job = YoungJob;

/** A call that has not been tried yet. */
export function newJob(...parts: ConstructorParameters<typeof YoungJob>): Job {
  return new YoungJob(...parts);
}

/**
 * A class where a literal would do. V8 watches how many objects of a literal survive; where it is
 * most of them, as with calls that wait for a reply, it goes on to make them in its old generation.
 * There they stay until a full collection, and keep alive whatever they refer to: with 512 calls in
 * flight that took a third of the time. Objects that a constructor makes always begin young.
 */
class YoungJob {
  /** The stored key; of several the first. */
  readonly key: string;
  /** The hash slot of all keys; 0 on a single server. */
  readonly slot: number;
  /** The instant to decide at; `undefined` for the store's time. */
  readonly at: number | undefined;
  /** The only operation, if it needs one key; `undefined` of several, and to forget the key. */
  readonly one: Operation | undefined;
  /** Operations that are run all or nothing, if it is not that one. */
  readonly several: Several | undefined;
  /** The turn that it came in. */
  readonly turn: Turn;
  /** Answers the caller. */
  readonly resolve: (answer: Answer) => void;
  /** Fails the call. */
  readonly reject: (error: Error) => void;
  /** How often it has been tried in vain. */
  tries = 0;
  /** How often a node of a cluster has sent it elsewhere. */
  redirects = 0;
  /** Whether its slot is being moved to the node that it waits for. */
  asking = false;
  /** Whether it shares a transaction only with calls on its very keys: others failed with it. */
  alone = false;
  /** Whether a value was found that only a watched transaction replaces safely. */
  watched = false;
  /** The cell of the first key, in the batch that it is in. */
  cell: Cell | undefined = undefined;
  /** Whether it was answered, or failed. */
  settled = false;
  /** What the call returns once the batch is committed. */
  answer: Answer = undefined;

  constructor(
    key: string,
    slot: number,
    at: number | undefined,
    one: Operation | undefined,
    several: Several | undefined,
    turn: Turn,
    resolve: (answer: Answer) => void,
    reject: (error: Error) => void,
  ) {
    this.key = key;
    this.slot = slot;
    this.at = at;
    this.one = one;
    this.several = several;
    this.turn = turn;
    this.resolve = resolve;
    this.reject = reject;
  }

  /** Since when it could have been sent, by `performance.now`. */
  get since(): number {
    return this.turn.end ?? performance.now();
  }
}

/** The keys of a call as one text, by which those that must be alone are told from each other. */
export function keySet(job: Job): string {
  return keysOf(job).join(" ");
}

/** Whether a call writes nothing, whatever comes of it. */
export function isLook({ one, several }: Job): boolean {
  return one === undefined ? several?.operations.every(looks) === true : looks(one);
}

function looks({ cost, dry, replaces }: Operation): boolean {
  return (dry || cost === 0) && replaces === undefined;
}

/** Every stored key that a call reads or writes. */
export function keysOf({ key, several }: Job): readonly string[] {
  return several === undefined ? [key] : several.keys;
}
