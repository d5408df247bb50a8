/*
 * Two slots changed at one instant: stores/shared/table/multi_swap.ts.
 *
 * Threads 0 and 1 take one unit from both slots at once, each in an order of its own; thread 2
 * takes one unit from one slot. A slot is version and state, or a mark that names a thread's batch.
 * Each step may be a thread's last. LIMIT units may be taken from each slot.
 *
 * Shown, over all orders of steps: a batch is done on both slots or on neither, also when its
 * thread has stopped in the middle; no slot is charged beyond LIMIT; every unit taken is in the
 * state; and whoever meets a mark can always go on.
 */

#define SLOTS 2
#define LIMIT 2
#define NOBODY 9
#ifndef TRIES
#define TRIES 2
#endif
#ifndef FIRST1
#define FIRST1 1
#endif

/* A slot's word: its version, its units, and whose mark it holds. */
byte version[SLOTS];
byte units[SLOTS];
byte mark[SLOTS] = NOBODY;

/* The batch of threads 0 and 1: 0 none, 1 undecided, 2 committed, 3 aborted. */
byte status[2];
byte number[2];
/* The versions before it: [thread * SLOTS + slot]. */
byte before[4];

/* The marks that the threads announce, each as owner, slot and version; 255 for none. */
#define MARK(owner, at, version) ((owner) * 64 + (at) * 32 + (version) % 32)
byte announced[4] = 255;
#define IS_ANNOUNCED(word) \
  (announced[0] == (word) || announced[1] == (word) || announced[2] == (word) || \
   announced[3] == (word))

/* Units that were taken: by batches, and by single calls on slot 1. */
byte both;
byte single;

/* Brings a slot that holds a mark to the word that it stands for. */
inline settle(who, at) {
  atomic { owner = mark[at]; seenVersion = version[at] };
  if
  :: owner != NOBODY ->
    announced[who] = MARK(owner, at, seenVersion);
    if
    :: mark[at] == owner && version[at] == seenVersion ->
      atomic { state = status[owner]; batch = number[owner] };
      if
      :: mark[at] == owner && version[at] == seenVersion ->
        if
        :: state == 1 ->
          atomic {
            if
            :: status[owner] == 1 && number[owner] == batch -> status[owner] = 3
            :: else
            fi
          };
          state = status[owner]
        :: else
        fi;
        seen = before[owner * SLOTS + at];
        atomic {
          if
          :: mark[at] == owner && version[at] == seenVersion ->
            mark[at] = NOBODY;
            if
            :: state == 2 ->
              units[at]++;
              version[at]++
            :: else -> version[at] = seen
            fi
          :: else
          fi
        }
      :: else
      fi
    :: else
    fi;
    announced[who] = 255
  :: else
  fi;
  owner = 0; seenVersion = 0; state = 0; batch = 0; seen = 0
}

#define STOP if :: goto dead :: skip fi

proctype Batch(byte me; byte first) {
  byte owner, seenVersion, state, batch, seen;
  byte word[SLOTS], held[SLOTS], marked[SLOTS], place, at;
  byte tries = 0;

again:
  if
  :: tries == TRIES -> goto done
  :: else -> tries++
  fi;
  place = 0; at = 0; state = 0; batch = 0;
  word[0] = 0; word[1] = 0; held[0] = 0; held[1] = 0; marked[0] = 0; marked[1] = 0;
  do
  :: place < SLOTS ->
    if
    :: mark[place] != NOBODY -> settle(me, place)
    :: else
    fi;
    atomic {
      if
      :: mark[place] == NOBODY ->
        word[place] = version[place];
        held[place] = units[place];
        place++
      :: else
      fi
    }
  :: else -> break
  od;
  if
  :: held[0] >= LIMIT || held[1] >= LIMIT -> goto done
  :: else
  fi;
  /* Marks that nobody announces. */
  atomic {
    marked[0] = word[0] + 1;
    marked[1] = word[1] + 1;
#ifndef CARELESS
    do
    :: IS_ANNOUNCED(MARK(me, 0, marked[0])) -> marked[0]++
    :: IS_ANNOUNCED(MARK(me, 1, marked[1])) -> marked[1]++
    :: else -> break
    od
#endif
  };
  before[me * SLOTS] = word[0];
  before[me * SLOTS + 1] = word[1];
  atomic { number[me]++; status[me] = 1 };
  STOP;
  place = 0;
  do
  :: place < SLOTS ->
    at = (place == 0 -> first : 1 - first);
    atomic {
      if
      :: mark[at] == NOBODY && version[at] == word[at] ->
        mark[at] = me;
        version[at] = marked[at]
      :: else -> break
      fi
    };
    place++;
    STOP
  :: else -> break
  od;
  /* The instant at which both slots change. */
  atomic {
    if
    :: status[me] == 1 && place == SLOTS ->
      status[me] = 2;
      both++
    :: status[me] == 1 && place < SLOTS -> status[me] = 3
    :: else
    fi
  };
  STOP;
  state = status[me];
  batch = place;
  place = 0;
  do
  :: place < batch ->
    at = (place == 0 -> first : 1 - first);
    atomic {
      if
      :: mark[at] == me && version[at] == marked[at] ->
        mark[at] = NOBODY;
        if
        :: state == 2 ->
          units[at]++;
          version[at]++
        :: else -> version[at] = word[at]
        fi
      :: else
      fi
    };
    place++;
    STOP
  :: else -> break
  od;
  if
  :: state == 2 -> goto done
  :: else -> goto again
  fi;
dead:
done:
  skip
}

proctype Single() {
  byte owner, seenVersion, state, batch, seen, word, held;
again:
  if
  :: mark[1] != NOBODY -> settle(2, 1); goto again
  :: else
  fi;
  atomic {
    if
    :: mark[1] == NOBODY ->
      word = version[1];
      held = units[1]
    :: else -> goto again
    fi
  };
  if
  :: held >= LIMIT -> goto done
  :: else
  fi;
  STOP;
  atomic {
    if
    :: mark[1] == NOBODY && version[1] == word ->
      version[1]++;
      units[1]++;
      single++
    :: else -> goto again
    fi
  };
dead:
done:
  skip
}

/* The next thread that comes by settles the batch of a thread that has stopped. */
proctype Visitor() {
  byte owner, seenVersion, state, batch, seen;
  settle(3, 0);
  settle(3, 1);
  assert(mark[0] == NOBODY && mark[1] == NOBODY)
}

init {
  atomic {
    run Batch(0, 0);
    run Batch(1, FIRST1);
    run Single()
  };
  (_nr_pr == 1);
  run Visitor();
  (_nr_pr == 1);
  assert(units[0] == both);
  assert(units[1] == both + single);
  assert(units[0] <= LIMIT && units[1] <= LIMIT)
}
