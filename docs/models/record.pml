/*
 * A thread's record that changes hands: stores/shared/threads/thread.ts, enter_call.ts (enter), announcements.ts
 * (announce).
 *
 * The owner's word is a generation, the cell to announce in, and a state. A thread that begins a
 * call looks at the word, then announces, then looks again; it works on only if the word is its own
 * both times. If it is not, the thread attaches and begins anew. While it works it announces the
 * words of slots; that of a slot never used is 0, in place of which it announces 1. Whoever wants
 * the record of a thread that makes no calls swaps the word, waits until that must be seen, looks
 * whether the record is idle, and swaps the word once more. Three threads make calls now and then,
 * all of them with this one record, and give it back or not. Each may stop after any step.
 *
 * Shown, over all orders of steps: never do two threads work with the record; no word is ever two
 * threads'; and a record whose thread has died in a call is nobody's again. Taken for granted: no
 * thread sleeps between its first look and its announcement while the record is taken over four
 * times, by others that wait for milliseconds each time. Here are more cells, so that none is used
 * again; with four the search finds what would come of that.
 *
 * CARELESS 1: the caller does not look again after it has announced. CARELESS 2: the taker takes the
 * record without a look whether it is idle. CARELESS 3: whoever takes what was given back reads the
 * generation anew, after its swap, as its own. CARELESS 4: the word 0 is announced as it is.
 * CARELESS 5: the caller does not look again after it has attached anew.
 */

#ifndef CARELESS
#define CARELESS 0
#endif
#ifndef TRIES
#define TRIES 2
#endif
#define CALLS 2
#define IN_USE 1
#define GIVEN_BACK 2
#define BEING_TAKEN 3
#define CELLS 8
#define WORD(generation, cell, state) (((generation) * CELLS + (cell)) * 4 + (state))
#define STATE(word) ((word) % 4)
#define CELL(word) (((word) / 4) % CELLS)
#define GENERATION(word) ((word) / (4 * CELLS))
/* In the same generation; in the next one; and in the next one with the next cell. */
#define AS(word, state) WORD(GENERATION(word), CELL(word), state)
#define RENEWED(word, state) WORD(GENERATION(word) + 1, CELL(word), state)
#define TAKEN(word) WORD(GENERATION(word) + 1, (CELL(word) + 1) % CELLS, BEING_TAKEN)

byte owner = WORD(1, 0, IN_USE);
byte announced[CELLS];
byte working;

#define IDLE (!announced[0] && !announced[1] && !announced[2] && !announced[3] && \
  !announced[4] && !announced[5] && !announced[6] && !announced[7])

inline swap(before, after) {
  atomic {
    swapped = (owner == before);
    if
    :: swapped -> owner = after; mine = after
    :: else
    fi
  };
  if
  :: !swapped -> goto stopped
  :: else
  fi
}

inline attach() {
  seen = owner;
  if
  :: STATE(seen) == GIVEN_BACK ->
    swap(seen, RENEWED(seen, IN_USE));
#if CARELESS == 3
    mine = owner;
#endif
  :: else ->
    if
    :: !IDLE -> goto stopped
    :: else
    fi;
    swap(seen, TAKEN(seen));
    if
    :: goto stopped
    :: skip
    fi;
#if CARELESS != 2
    if
    :: !IDLE -> goto stopped
    :: else
    fi;
#endif
    swap(mine, AS(mine, IN_USE))
  fi
}

/* One of the threads has the record at first, the others (0) have none. */
proctype Thread(byte mine) {
  byte seen, calls, tries;
  bool swapped, isAnew;
  do
  :: calls < CALLS ->
    if
    :: tries == TRIES -> goto stopped
    :: else -> tries++
    fi;
    isAnew = false;
    if
    :: owner != mine -> attach(); isAnew = true
    :: else
    fi;
    announced[CELL(mine)] = 1;
    if
#if CARELESS == 1
    :: true -> skip
#elif CARELESS == 5
    :: isAnew -> skip
    :: !isAnew && owner == mine -> skip
    :: !isAnew && owner != mine -> announced[CELL(mine)] = 0; goto next
#else
    :: owner == mine -> skip
    :: owner != mine -> announced[CELL(mine)] = 0; goto next
#endif
    fi;
    working++;
    assert(working == 1);
    if
    :: announced[CELL(mine)] = 2
#if CARELESS == 4
    :: announced[CELL(mine)] = 0
#else
    :: announced[CELL(mine)] = 1
#endif
    fi;
    if
    :: goto stopped
    :: skip
    fi;
    assert(working == 1);
    working--;
    announced[CELL(mine)] = 0;
    calls++;
next:
    skip
  :: mine != 0 ->
    /* Gives the record back, unless it is no more its own. */
    atomic {
      if
      :: owner == mine -> owner = AS(mine, GIVEN_BACK)
      :: else
      fi
    };
    break
  :: true -> break
  od;
stopped:
  skip
}

init {
  atomic { run Thread(WORD(1, 0, IN_USE)); run Thread(0); run Thread(0) }
}
