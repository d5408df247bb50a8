/*
 * The swap of one slot: stores/shared/table/table.ts (find, replace), threads/announcements.ts.
 *
 * A slot's word is version and block. A thread reads it, announces it, looks whether it is still
 * there, reads the block, writes the successor into its spare block and swaps it in. Blocks given up come
 * back into use once nobody announces them. Versions here are modulo 2, so that every word could
 * come back at once: what is shown does not rest on versions at all, but on announcements alone.
 *
 * Each of the threads may stop forever before any of its steps, as a killed one does; one that is
 * slow is a thread whose next step comes late. The state is a count, written in two halves, as a
 * float may be; LIMIT calls may be admitted.
 *
 * Shown, over all orders of steps: never more than LIMIT admitted; the slot's block is whole and
 * counts every admitted call (none is lost, none counted twice); a call that answers has seen a
 * whole block; and a thread that goes on always ends: it tries again only when another one has
 * swapped in between.
 */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef CALLS
#define CALLS 3
#endif
#define LIMIT 4
#define SPARES 2
#define BLOCKS (1 + THREADS * SPARES)
#define VERSIONS 2
#define WORD(version, block) ((version) * BLOCKS + (block))
#define NOBODY 255

byte slot = WORD(0, 0);
byte low[BLOCKS];
byte high[BLOCKS];
byte announced[THREADS] = NOBODY;
byte admitted;
byte swaps;
bool alive[THREADS] = true;

/* A block of `me` that nobody announces: threads + 1 spares are enough, SPARES of 2 for 2 threads. */
inline vet(mine, block) {
  byte other = 0;
  bool pinned = false;
  do
  :: other < THREADS ->
    if
    :: other != me && announced[other] != NOBODY && announced[other] % BLOCKS == mine -> pinned = true
    :: else
    fi;
    other++
  :: else -> break
  od;
#ifdef CARELESS
  pinned = false;
#endif
  if
  :: !pinned -> block = mine
  :: else
  fi;
  other = 0;
  pinned = false
}

proctype Thread(byte me) {
  byte spare[SPARES];
  byte call = 0;
  byte word, block, left, right, mine, next, seen, place, swapsBefore;

  spare[0] = 1 + me * SPARES;
  spare[1] = 2 + me * SPARES;

  do
  :: call < CALLS ->
    swapsBefore = swaps;
    word = slot;
    /* Stopped here, a thread has announced nothing. */
    announced[me] = word;
    if
    :: slot != word ->
      assert(swaps != swapsBefore)
    :: else ->
      /* The word was there after it was announced: nobody writes into its block any more. */
      block = word % BLOCKS;
      left = low[block];
      right = high[block];
      assert(left == right);
      if
      :: left >= LIMIT ->
        call++
      :: else ->
        next = NOBODY;
        place = 0;
        do
        :: next == NOBODY ->
          place = 1 - place;
          vet(spare[place], next)
        :: else -> break
        od;
        low[next] = left + 1;
        high[next] = right + 1;
        atomic {
          if
          :: slot == word ->
            slot = WORD((word / BLOCKS + 1) % VERSIONS, next);
            admitted++;
            swaps++;
            seen = 1
          :: else ->
            assert(swaps != swapsBefore);
            seen = 0
          fi
        };
        if
        :: seen == 1 ->
          spare[place] = block;
          call++
        :: else
        fi;
        seen = 0
      fi
    fi;
    announced[me] = NOBODY
  :: call < CALLS ->
    /* Killed between calls; or in one, because any step above may be the last that is scheduled. */
    alive[me] = false;
    break
  :: call >= CALLS ->
    break
  od
}

/* A thread that dies in the middle of a call: it does the first steps of one and stops. */
proctype Doomed(byte me) {
  byte word, block, left;
  word = slot;
  if
  :: goto dead
  :: announced[me] = word
  fi;
  if
  :: slot != word -> goto dead
  :: else
  fi;
  block = word % BLOCKS;
  left = low[block];
  if
  :: left < LIMIT ->
    low[1 + me * SPARES] = left + 1;
    if
    :: goto dead
    :: high[1 + me * SPARES] = left + 1
    fi;
    atomic {
      if
      :: slot == word ->
        slot = WORD((word / BLOCKS + 1) % VERSIONS, 1 + me * SPARES);
        admitted++;
        swaps++
      :: else
      fi
    }
  :: else
  fi;
dead:
  alive[me] = false
}

init {
  atomic {
    run Thread(0);
#if THREADS > 2
    run Thread(1);
#endif
#ifdef DOOMED
    run Doomed(THREADS - 1)
#else
    run Thread(THREADS - 1)
#endif
  };
  /* Everybody comes to an end: the others need nothing of one that has died. */
  (_nr_pr == 1);
  assert(low[slot % BLOCKS] == high[slot % BLOCKS]);
  assert(low[slot % BLOCKS] == admitted);
  assert(admitted <= LIMIT)
}
