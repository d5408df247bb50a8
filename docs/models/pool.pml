/*
 * The pool of what threads have too much of, and the look that a taker takes: stores/shared/allocator/pool.ts,
 * spare_blocks.ts.
 *
 * A stack of chains, here of one block each; its head is a count of the changes and the topmost
 * block, changed by one compare-and-swap. The threads put what they hold and take what there is, in
 * any order. A block says whose it is (its key) and when it is fresh; in the pool, a link to another
 * block stands in place of the latter. A reader announces a block that it reads; a block that it
 * announced may be put and taken by others meanwhile, but whoever takes it writes into it only if it
 * is not announced. What the reader reads of the key, it believes; what it reads of when it is
 * fresh, only if the slot has the block still. Each step of a thread may be its last.
 *
 * Shown, over all orders of steps: no block is ever two threads', or a thread's and the pool's; a
 * block is lost only with a thread that died; whoever reads a block reads whose it is; and who goes
 * on always ends: a swap fails only when another one has succeeded.
 *
 * CARELESS 1: the count stays as it is, so that a head can come back. CARELESS 2: a taker writes
 * without a look at what is announced. CARELESS 3: links stand where the key does. CARELESS 4: the
 * reader believes when it is fresh without a second look at the slot.
 */

#ifndef CARELESS
#define CARELESS 0
#endif
#ifndef OPERATIONS
#define OPERATIONS 3
#endif
#define THREADS 2
#define BLOCKS 3
#define NONE 0
#define POOL 9
/* The block in the slot holds these two: they are no links, and no keys of other blocks. */
#define KEY 7
#define FRESH 8

/* The head: both are read and swapped at once. */
byte count;
byte top;
byte key[BLOCKS + 1];
byte freshAt[BLOCKS + 1];
#if CARELESS == 3
#define LINK key
#else
#define LINK freshAt
#endif
/* The owner of each block: POOL, a thread (1 or 2), or the reader's slot (0). */
byte owner[BLOCKS + 1];
byte swaps;
/* The block that the reader announces. */
byte announced;
byte dead;

inline stop_or_go() {
  if
  :: dead++; goto stopped
  :: skip
  fi
}

proctype Thread(byte me) {
  byte seenCount, seenTop, next, mine, before, done;
  bool pinned;
  mine = me;
  do
  :: done < OPERATIONS && mine != NONE ->
    /* put */
    before = swaps;
    atomic { seenCount = count; seenTop = top };
    LINK[mine] = seenTop;
    stop_or_go();
    atomic {
      if
      :: count == seenCount && top == seenTop ->
        top = mine;
#if CARELESS != 1
        count = count + 1;
#endif
        assert(owner[mine] == me);
        owner[mine] = POOL;
        swaps++;
        mine = NONE;
        done++
      :: else -> assert(swaps != before)
      fi
    }
  :: done < OPERATIONS && mine == NONE ->
    /* take */
    before = swaps;
    atomic { seenCount = count; seenTop = top };
    if
    :: seenTop == NONE -> done++
    :: else ->
      next = LINK[seenTop];
      stop_or_go();
      atomic {
        if
        :: count == seenCount && top == seenTop ->
          top = next;
#if CARELESS != 1
          count = count + 1;
#endif
          assert(owner[seenTop] == POOL);
          owner[seenTop] = me;
          swaps++;
          mine = seenTop;
          done++
        :: else -> assert(swaps != before)
        fi
      };
      if
      :: mine != NONE ->
        pinned = (announced == mine);
        stop_or_go();
        if
#if CARELESS == 2
        :: true ->
#else
        :: !pinned ->
#endif
          /* It writes: whoever reads the block reads something else. */
          key[mine] = me
        :: else
        fi
      :: else
      fi
    fi
  :: done >= OPERATIONS -> break
  od;
stopped:
  skip
}

/* Reads the block of a slot: announces it, looks whether it is still the slot's, and reads. */
proctype Reader() {
  byte block = BLOCKS;
  byte hint;
  announced = block;
  if
  :: owner[block] == 0 ->
    stop_or_go();
    assert(key[block] == KEY);
    hint = freshAt[block];
#if CARELESS == 4
    assert(hint == FRESH)
#else
    if
    :: owner[block] == 0 -> assert(hint == FRESH)
    :: else
    fi
#endif
  :: else
  fi;
  announced = NONE;
stopped:
  skip
}

/* Swaps the slot's block out, and puts it into the pool. */
proctype Changer() {
  byte seenCount, seenTop;
  owner[BLOCKS] = 3;
  do
  :: true ->
    atomic { seenCount = count; seenTop = top };
    LINK[BLOCKS] = seenTop;
    stop_or_go();
    atomic {
      if
      :: count == seenCount && top == seenTop ->
        top = BLOCKS;
#if CARELESS != 1
        count = count + 1;
#endif
        owner[BLOCKS] = POOL;
        swaps++;
        break
      :: else
      fi
    }
  od;
stopped:
  skip
}

init {
  byte block, pooled;
  owner[1] = 1;
  owner[2] = 2;
  key[BLOCKS] = KEY;
  freshAt[BLOCKS] = FRESH;
  atomic { run Thread(1); run Thread(2); run Reader(); run Changer() };
  (_nr_pr == 1);
  /* The pool owns every block that is in it, and holds each of them once. */
  block = top;
  do
  :: block != NONE ->
    assert(owner[block] == POOL);
    owner[block] = 8;
    pooled++;
    block = LINK[block]
  :: else -> break
  od;
  assert(pooled <= BLOCKS);
  block = 1;
  do
  :: block <= BLOCKS ->
    assert(owner[block] != POOL);
    block++
  :: else -> break
  od
}
