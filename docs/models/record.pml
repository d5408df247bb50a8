/*
 * A thread's record that changes hands: stores/shared/record.ts, open_store.ts (enter).
 *
 * The owner's word is a generation and a state. A thread that begins a call looks at the word, then
 * announces, then looks again; it works on only if the word is its own both times. Whoever wants the
 * record of a thread that makes no calls swaps the word, waits until that must be seen, looks
 * whether the record is idle, and swaps the word once more. Two others want the record, one of them
 * perhaps after it was given back; the owner makes calls now and then, and gives it back or not.
 * Each of them may stop after any step.
 *
 * Shown, over all orders of steps: never do two threads work with the record; no word is ever two
 * threads'; and a record whose thread has died in a call is nobody's again.
 *
 * CARELESS 1: the caller does not look again after it has announced. CARELESS 2: the taker takes the
 * record without a look whether it is idle. CARELESS 3: whoever takes what was given back reads the
 * generation anew, after its swap, as its own.
 */

#ifndef CARELESS
#define CARELESS 0
#endif
#define IN_USE 1
#define GIVEN_BACK 2
#define BEING_TAKEN 3
#define WORD(generation, state) ((generation) * 4 + (state))
#define STATE(word) ((word) % 4)
#define RENEWED(word, state) WORD((word) / 4 + 1, state)
#define CELLS 4

byte owner = WORD(1, IN_USE);
/* Each generation announces in a cell of its own. */
bool announced[CELLS];
byte working;

#define IDLE (!announced[0] && !announced[1] && !announced[2] && !announced[3])

/* A call under the word `mine`; `lost` if the record has another owner. */
inline call(mine, lost) {
  lost = false;
  if
  :: owner != mine -> lost = true
  :: else ->
    announced[(mine / 4) % CELLS] = true;
    if
#if CARELESS != 1
    :: owner != mine ->
      announced[(mine / 4) % CELLS] = false;
      lost = true
#endif
    :: owner == mine || CARELESS == 1 ->
      working++;
      assert(working == 1);
      if
      :: goto stopped
      :: skip
      fi;
      working--;
      announced[(mine / 4) % CELLS] = false
    fi
  fi
}

proctype Owner() {
  byte mine = WORD(1, IN_USE), calls;
  bool lost;
  do
  :: calls < 2 && !lost -> call(mine, lost); calls++
  :: calls < 2 && !lost ->
    /* Gives the record back, unless it is no more its own. */
    atomic {
      if
      :: owner == mine -> owner = WORD(mine / 4, GIVEN_BACK)
      :: else
      fi
    };
    break
  :: true -> break
  od;
stopped:
  skip
}

proctype Taker() {
  byte seen, mine;
  bool lost, swapped;
  seen = owner;
  if
  :: STATE(seen) == GIVEN_BACK ->
    atomic {
      swapped = (owner == seen);
      if
      :: swapped -> owner = RENEWED(seen, IN_USE); mine = owner
      :: else
      fi
    };
#if CARELESS == 3
    mine = owner;
#endif
    if
    :: !swapped -> goto stopped
    :: else
    fi
  :: else ->
    if
    :: !IDLE -> goto stopped
    :: else
    fi;
    atomic {
      swapped = (owner == seen);
      if
      :: swapped -> owner = RENEWED(seen, BEING_TAKEN); mine = owner
      :: else
      fi
    };
    if
    :: !swapped -> goto stopped
    :: else
    fi;
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
    atomic {
      swapped = (owner == mine);
      if
      :: swapped -> owner = WORD(mine / 4, IN_USE); mine = owner
      :: else
      fi
    };
    if
    :: !swapped -> goto stopped
    :: else
    fi
  fi;
  call(mine, lost);
  if
  :: lost -> goto stopped
  :: else
  fi;
  call(mine, lost);
stopped:
  skip
}

init {
  atomic { run Owner(); run Taker(); run Taker() }
}
