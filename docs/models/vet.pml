/*
 * The ring of spare blocks: stores/shared/allocator/spare_blocks.ts (vet), threads/announcements.ts.
 *
 * One thread swaps a slot's block CALLS times. It writes into the block at the head of its ring and
 * puts the one that it has swapped out at the tail; when none is free it looks through those given up
 * and sets free, in the places before the others, those that no reader announces. Readers announce the
 * slot's word, look again, and read the block, written in two halves. Versions are modulo 2. Each step
 * of a reader may be its last: what it announces is then never used again.
 *
 * Shown, over all orders of steps: no block is written while a reader reads it, none is in two places
 * or in none, and the thread runs out of blocks only while readers announce all that it has.
 */

#ifndef READERS
#define READERS 2
#endif
#ifndef CALLS
#define CALLS 5
#endif
#ifndef CARELESS
#define CARELESS 0
#endif
#define BLOCKS 4
#define RING 4
#define NOBODY 255
#define WORD(version, block) ((version) * BLOCKS + (block))

byte slot = WORD(0, 0);
byte low[BLOCKS];
byte high[BLOCKS];
byte announced[READERS] = NOBODY;
byte ring[RING];
byte head, vetted, tail;

proctype Swapper() {
  byte call, place, end, block, reader, at, seen;
  bool pinned;

  do
  :: call < CALLS ->
    do
    :: head == vetted ->
      place = vetted;
      end = tail;
      do
      :: place != end ->
        block = ring[place % RING];
        pinned = false;
        reader = 0;
        do
        :: reader < READERS ->
          if
          :: CARELESS != 1 && announced[reader] != NOBODY && announced[reader] % BLOCKS == block ->
            pinned = true
          :: else
          fi;
          reader++
        :: else -> break
        od;
        atomic {
          if
          :: !pinned ->
            if
            :: CARELESS != 2 -> ring[place % RING] = ring[vetted % RING]
            :: else
            fi;
            ring[vetted % RING] = block;
            vetted++
          :: else
          fi;
          place++
        }
      :: else -> break
      od;
      if
      /* All are announced: it waits for a reader, or ends, because all of them may have stopped. */
      :: head == vetted && head != tail -> goto done
      :: head != vetted
      fi
    :: else -> break
    od;
    /* Each block is in the slot or in one place of the ring. */
    atomic {
      seen = 1 << (slot % BLOCKS);
      at = head;
      do
      :: at != tail ->
        assert(!(seen & (1 << ring[at % RING])));
        seen = seen | (1 << ring[at % RING]);
        at++
      :: else -> break
      od;
      assert(seen == (1 << BLOCKS) - 1)
    };
    block = ring[head % RING];
    low[block] = call + 1;
    high[block] = call + 1;
    atomic {
      ring[tail % RING] = slot % BLOCKS;
      slot = WORD((slot / BLOCKS + 1) % 2, block);
      if
      :: CARELESS == 3 -> vetted++
      :: else
      fi;
      head++;
      tail++
    };
    call++
  :: else -> break
  od;
done:
  skip
}

proctype Reader(byte me) {
  byte word, left, turn;

  do
  :: turn < 2 ->
    word = slot;
    announced[me] = word;
    if
    :: slot == word || CARELESS == 4 ->
      left = low[word % BLOCKS];
      if
      :: goto dead
      :: skip
      fi;
      assert(left == high[word % BLOCKS])
    :: else
    fi;
    announced[me] = NOBODY;
    turn++
  :: else -> break
  od;
dead:
  skip
}

init {
  byte each;
  atomic {
    ring[0] = 1;
    ring[1] = 2;
    ring[2] = 3;
    vetted = 1;
    tail = 3
  };
  atomic {
    run Swapper();
    do
    :: each < READERS -> run Reader(each); each++
    :: else -> break
    od
  };
  (_nr_pr == 1)
}
