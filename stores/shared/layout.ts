/*
 * Where everything lies in the shared buffer. Offsets and sizes are in 32-bit words, unless a
 * comment names another unit.
 *
 *   header    64 words    below
 *   signals   1024 words  each says, for some of the keys, whether units were given back
 *   buckets   16 words    each is a cache line: 12 slots, 12 tags of one byte, 1 intent
 *   threads   512 words   each is a thread's record: its announcements, counters, batch, spare blocks
 *                         and free nodes
 *   blocks    8 words     each holds a key and its state; block 0 stands for "none"
 *   holders   1 word      one for each node: for the topmost node of a state, the low half of the
 *                         key's fingerprint | 1; for any other node 0
 *   nodes     32 words    each is a piece of a window, a log or a long state; node 0 stands for "none"
 *
 * Pages that are never touched take no memory. So the buffer has its largest size from the start:
 * keys and nodes grow up to their bounds without being moved, and every view keeps one fixed
 * length, which engines handle fastest.
 *
 * Slot, the only word by which a key's state changes:
 *
 *   version | 0              empty: no key
 *   version | block          a key: the block holds the key and its state
 *   version | mark           held by the batch of thread (mark - firstMark) until the batch is decided
 *
 * Every change raises the version. It has the bits that the block number leaves, and wraps around.
 *
 * Intent, one for each bucket. Through it, at most one thread at a time inserts a new key whose
 * home is that bucket:
 *
 *   count | reach | 0         no thread inserts a key
 *   count | reach | target    a thread is about to swap a new key into slot (target - 1) of the chain
 *
 * The chain of a bucket is the bucket and the 7 after it: 96 slots. A key stands in its home
 * bucket. If that was full, the key stands in a later bucket of the chain, no further from its home
 * than the reach says (0, 1, 3 or 7 buckets).
 *
 * The writers and readers of each word, and their kind of access:
 *
 *   header, keys and pools     all, atomic; the rest only by the thread that made the store
 *   slot, intent               all, by compare-and-swap; a slot's first read is plain, a guess
 *   tag                        plain: a hint
 *   announced word             its thread, atomic; it locks the record; read atomically by all
 *   owner                      all, by compare-and-swap; the thread that has locked the record reads
 *                              it plain
 *   signal                     all, atomic
 *   batch, further words       its thread, plain; published by the status, a mark, or their number
 *   the rest of a record       the thread that has locked it, plain; all may read the counters
 *   block                      the thread that has it spare, plain; published by the swap of a slot;
 *                              read by threads that have announced its word, and not written again
 *                              before they are done
 *   holder                     the thread that has made the node, plain: a hint
 *   node                       the thread that has made it, plain; published by the swap of a slot;
 *                              if it is written again while a thread reads, that thread's swap fails,
 *                              and it discards what it has read
 *
 * `docs/internals/threads.md` says why each plain access is safe.
 *
 * At each instant, every block and every node is in exactly one place: in a slot's state, in a
 * thread's record, in the pool, or beyond the last one handed out.
 */

import { errorMessage } from "../../core/options/checks.ts";
import { keepsOrder } from "./processor.ts";

/** "TIDE" in ASCII. */
const MAGIC = 0x54494445;
/** The version of the layout: a buffer of another version is refused. */
const VERSION = 10;

export const SLOTS_PER_BUCKET = 12;
/** Words of a bucket. */
export const BUCKET = 16;
/** Buckets of a chain, in which a key may stand: its home and the ones after it. */
export const CHAIN = 8;
/** Where the tags begin in a bucket, in bytes. */
export const TAGS = 48;
/** Where the intent lies in a bucket. */
export const INTENT = 15;

/** Why a handle may be empty: `process.send` empties it. */
export const SAME_PROCESS =
  "processes, such as those of node:cluster, share no memory: give each sqliteStore or redisStore";

/**
 * Words of a block: two of fingerprint, then three of 64 bits: the fresh instant, and two of state.
 */
export const BLOCK = 8;
/** The place of a block's fresh instant, or of its links to other blocks while it is in the pool. */
export const FRESH_AT = 2;
/** Words of a node. */
export const NODE = 32;

/** Words of a thread's record. */
export const RECORD = 512;
/** The places of a record's parts. */
export const field = {
  /** The slot word that the thread works on, or 1 before it has read one; 0 between calls. */
  announced: 0,
  /**
   * The number of the thread that owns the record; 0 if it was never used, -1 if it was given back.
   */
  owner: 1,
  /**
   * Calls of the thread, modulo 2^32: a sign of life. Then the count that the last thread to attach
   * saw, and the second in which it looked.
   */
  calls: 3,
  callsSeen: 2,
  callsSeenAt: 15,
  /** The ring of spare blocks: [head, vetted) are free, [vetted, tail) rest (`spare_blocks.ts`). */
  head: 4,
  vetted: 5,
  tail: 6,
  /** The batch: its number and state, and how many slots it changes. */
  status: 7,
  batchSize: 8,
  /** How many further words the thread announces, and these words. */
  seenSize: 9,
  seen: 192,
  /** How many free nodes the thread keeps, and their numbers. */
  keptSize: 14,
  kept: 384,
  /** Counters, each written by its thread alone. */
  counters: 16,
  /** The batch's slots: three words each. */
  batch: 48,
  /** The ring of spare blocks. */
  ring: 256,
} as const;
/** The most operations of a batch. Each may have a second key: the same key under older options. */
export const MAX_OPERATIONS = 24;
/** Places of the ring of spare blocks. */
export const RING_SIZE = 128;

/** Words of the header. */
export const header = {
  magic: 0,
  version: 1,
  capacity: 2,
  buckets: 3,
  threads: 4,
  nodes: 5,
  /** How often the keys of any prefix were forgotten. Its neighbours are words that rarely change. */
  resets: 6,
  hashKeyLow: 8,
  hashKeyHigh: 9,
  throwsWhenFull: 10,
  /**
   * Where blocks and nodes begin; `attachMemory` compares them with the sizes, which may be forged.
   */
  blocks: 11,
  nodeStart: 12,
  /** The bound of `capacity`, for which tables and blocks have room. */
  maxCapacity: 13,
  /** The keys that are counted, which are never more than those in the slots (`table.ts`). */
  keys: 16,
  /** Blocks handed out; the count goes past the end when no block is left. */
  blockCount: 32,
  /** Nodes handed out; the count goes past the end when no node is left. */
  nodeCount: 33,
  /** The pools of blocks and of nodes: 64 bits each. */
  blockPool: 34,
  nodePool: 36,
  /** Thread records ever used. */
  records: 48,
  /** The bucket at which the next search for keys to drop begins. */
  hand: 49,
  /** Numbers given to threads so far. */
  owners: 50,
  /** The newest time of all threads, in seconds since the Unix epoch. */
  newestSecond: 51,
} as const;

/** The store's sizes in the header. */
const SIZES = ["capacity", "maxCapacity", "buckets", "threads", "nodes"] as const;

const SIGNALS = 64;
/** Words of signals; a power of two. */
export const SIGNAL_COUNT = 1_024;
const BUCKETS: number = SIGNALS + SIGNAL_COUNT;
/**
 * Spare blocks of each thread, in addition to the blocks for `capacity` keys: see `spare_blocks.ts`.
 * Two of them are for the keys beyond `capacity` that a thread that inserts, or died, may cause.
 */
const SPARES_PER_THREAD = 146;

/** The sizes of a store, as its creator chose them. */
export interface Sizes {
  readonly capacity: number;
  readonly maxCapacity: number;
  /** A power of two. */
  readonly buckets: number;
  readonly threads: number;
  readonly nodes: number;
}

/** The buffer of a store as views, where its parts begin, and how many there are of each. */
export interface Memory {
  readonly buffer: SharedArrayBuffer;
  readonly ints: Int32Array;
  readonly floats: Float64Array;
  readonly bigs: BigInt64Array;
  readonly bytes: Uint8Array;
  readonly maxCapacity: number;
  readonly threads: number;
  readonly bucketMask: number;
  readonly signals: number;
  readonly buckets: number;
  readonly records: number;
  readonly blocks: number;
  readonly holders: number;
  readonly nodes: number;
  /** The number of the last node. */
  readonly lastNode: number;
  /** The number of the last block. */
  readonly lastBlock: number;
  /** The first block number that stands for a batch. */
  readonly firstMark: number;
  /** The bits of a slot that hold a block's number. */
  readonly blockMask: number;
  /** Whether plain accesses keep their order: see `processor.ts`. */
  readonly keepsOrder: boolean;
}

/** Where the parts of a store of these sizes begin. */
function placesOf({ maxCapacity, buckets, threads, nodes: lastNode }: Sizes) {
  const records = BUCKETS + buckets * BUCKET;
  const blocks = records + threads * RECORD;
  const lastBlock = maxCapacity + threads * SPARES_PER_THREAD;
  const holders = blocks + (lastBlock + 1) * BLOCK;
  const nodes = Math.ceil((holders + lastNode + 1) / NODE) * NODE;
  const blockBits = Math.ceil(Math.log2(lastBlock + threads + 2));
  // Make them 32-bit numbers, however they were computed: engines keep the two kinds apart.
  return {
    maxCapacity: maxCapacity | 0,
    threads: threads | 0,
    bucketMask: (buckets - 1) | 0,
    signals: SIGNALS,
    buckets: BUCKETS,
    records: records | 0,
    blocks: blocks | 0,
    holders: holders | 0,
    nodes: nodes | 0,
    lastNode: lastNode | 0,
    lastBlock: lastBlock | 0,
    firstMark: (lastBlock + 1) | 0,
    blockMask: (2 ** blockBits - 1) | 0,
  };
}

/**
 * How many buckets a store has: one for every two to four keys, though a bucket has twelve slots.
 * When all keys are in use, at worst one bucket in 3,000 is full, and its next keys stand in the
 * buckets after it. A roomy store has a bucket for every one or two keys, and one in five million is
 * full.
 */
export function bucketsFor(capacity: number, isRoomy: boolean): number {
  return 2 ** Math.max(0, Math.floor(Math.log2(capacity * 0.49)) + (isRoomy ? 1 : 0));
}

/** The most keys that a store holds now. */
export function capacityOf({ ints }: Pick<Memory, "ints">): number {
  return Atomics.load(ints, header.capacity);
}

/** Raises the most keys that a store holds. They have room already. */
export function growCapacity({ ints }: Memory, capacity: number): void {
  for (;;) {
    const now = Atomics.load(ints, header.capacity);
    if (now >= capacity) return;
    if (Atomics.compareExchange(ints, header.capacity, now, capacity) === now) return;
  }
}

/** The bytes that a store of these sizes takes, before it holds anything. */
export function byteLengthOf(sizes: Sizes): number {
  return 4 * (placesOf(sizes).nodes + (sizes.nodes + 1) * NODE);
}

/** Allocates a store and writes its header. */
export function createMemory(sizes: Sizes, throwsWhenFull: boolean): Memory {
  const memory = viewsOf(new SharedArrayBuffer(byteLengthOf(sizes)), sizes);
  const { ints, blocks, nodes } = memory;
  for (const name of SIZES) ints[header[name]] = sizes[name];
  ints[header.version] = VERSION;
  ints[header.throwsWhenFull] = throwsWhenFull ? 1 : 0;
  ints[header.blocks] = blocks;
  ints[header.nodeStart] = nodes;
  crypto.getRandomValues(new Int32Array(2)).forEach((word, index) => {
    ints[header.hashKeyLow + index] = word;
  });
  Atomics.store(ints, header.magic, MAGIC);
  return memory;
}

/**
 * The memory of a buffer that was made by `createMemory`, in this thread or another.
 *
 * @throws {TypeError} If it is no shared buffer.
 * @throws {RangeError} If the buffer does not have this layout, or is not whole.
 */
export function attachMemory(buffer: SharedArrayBuffer): Memory {
  const action = "attach a shared store";
  if (!(buffer instanceof SharedArrayBuffer)) {
    const rule = `its handle must hold a SharedArrayBuffer; ${SAME_PROCESS}`;
    throw new TypeError(errorMessage(action, rule, buffer));
  }
  const least = 4 * SIGNALS;
  if (buffer.byteLength < least) {
    const rule = `its buffer must have at least the ${least} bytes of a header`;
    throw new RangeError(errorMessage(action, rule, buffer.byteLength));
  }
  const ints = new Int32Array(buffer, 0, SIGNALS);
  expect("magic number", ints[header.magic]!, MAGIC);
  expect("layout version", ints[header.version]!, VERSION);
  const [capacity, maxCapacity, buckets, threads, nodes] = SIZES.map((name) =>
    Atomics.load(ints, header[name])
  ) as [number, number, number, number, number];
  const sizes = { capacity, maxCapacity, buckets, threads, nodes };
  const places = placesOf(sizes);
  within("largest capacity", maxCapacity, 1, 2 ** 24);
  within("capacity", capacity, 1, maxCapacity);
  within("number of threads", threads, 1, 2 ** 12);
  within("number of nodes", nodes, 0, 2 ** 24 - 1);
  expect("number of bytes", buffer.byteLength, byteLengthOf(sizes));
  const isRoomy = buckets > bucketsFor(maxCapacity, false);
  expect("number of buckets", buckets, bucketsFor(maxCapacity, isRoomy));
  expect("first block", ints[header.blocks]!, places.blocks);
  expect("first node", ints[header.nodeStart]!, places.nodes);
  within("policy when full", ints[header.throwsWhenFull]!, 0, 1);
  // A key may be discounted before it is counted, or by a thread that died.
  within("number of keys", ints[header.keys]!, -2 * threads, places.lastBlock);
  // The count may be past the end for an instant, while a thread counts up and back.
  within("number of records", ints[header.records]!, 0, 2 * threads);
  within("number of blocks", ints[header.blockCount]!, 0, places.lastBlock + threads);
  within("number of nodes taken", ints[header.nodeCount]!, 0, nodes + 16 * threads);
  within("pool of blocks", ints[header.blockPool]!, 0, places.lastBlock);
  within("pool of nodes", ints[header.nodePool]!, 0, nodes);
  return viewsOf(buffer, sizes);

  function expect(what: string, found: number, expected: number): void {
    if (found === expected) return;
    throw new RangeError(errorMessage(action, `its ${what} must be ${expected}`, found));
  }

  function within(what: string, found: number, least: number, most: number): void {
    if (found >= least && found <= most) return;
    throw new RangeError(errorMessage(action, `its ${what} must be ${least} to ${most}`, found));
  }
}

function viewsOf(buffer: SharedArrayBuffer, sizes: Sizes): Memory {
  return {
    buffer,
    ints: new Int32Array(buffer),
    floats: new Float64Array(buffer),
    bigs: new BigInt64Array(buffer),
    bytes: new Uint8Array(buffer),
    ...placesOf(sizes),
    keepsOrder: keepsOrder(),
  };
}
