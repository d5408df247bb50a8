/*
 * The count of a store's keys: stores/shared/table/insert.ts (breakIntent, fillEmpty, unclaim) and
 * table.ts (removeKey, isFull).
 *
 * Two threads bring the same key, a third one brings another, and two more forget that one, in a store
 * with room for both keys. Key 1 has one slot, version and whether it is filled, and an intent; nobody
 * else wants the slot of key 2. A key is counted after its slot was filled, and discounted before it is
 * emptied. Each step of a thread may be its last.
 *
 * Shown, over all orders of steps: the count is never above the keys; no key is refused, whichever
 * threads died; and in the end only keys are not counted at which a thread died.
 *
 * CARELESS 1: a key is counted before its slot is filled. CARELESS 2: it is discounted after its slot was
 * emptied. CARELESS 3: nobody looks whether its own insertion was broken off. CARELESS 4: a thread that
 * did not empty a slot does not count the key again.
 */

#ifndef CARELESS
#define CARELESS 0
#endif
#ifndef TRIES
#define TRIES 2
#endif
#define CAPACITY 2

short counted;
/* The slot of key 1. */
byte version;
bool filled;
bool filled2;
/* Its intent: count, and whether there is one. */
byte count;
bool pending;

/* Keys at which a thread died. */
byte lost;

#define KEYS (filled + filled2)

inline stop_or_go() {
  if
  :: goto stopped
  :: skip
  fi
}

/* Between the change of a slot and that of the count. */
inline stop_or_go_between() {
  if
  :: atomic { lost++; goto stopped }
  :: skip
  fi
}

proctype Thread(byte mine) {
  byte held, seenCount, tries;
  bool seenPending, isFilled;

again:
  isFilled = false; seenPending = false; held = 0; seenCount = 0;
  /* A race lost TRIES times in a row is not followed further. */
  if
  :: tries == TRIES -> goto stopped
  :: else -> tries++
  fi;
  if
  :: mine == 1 ->
    atomic { seenCount = count; seenPending = pending };
    if
    :: seenPending ->
      held = version;
      if
      :: !(count == seenCount && pending) -> goto again
      :: else
      fi;
      atomic {
        if
        :: version == held -> version++
        :: else
        fi
      };
      stop_or_go();
      atomic {
        if
        :: count == seenCount && pending -> count++; pending = false; seenCount = count
        :: else -> goto again
        fi
      }
    :: else
    fi;
    atomic {
      held = version;
      if
      :: filled -> goto stopped
      :: else
      fi
    };
    atomic {
      if
      :: count == seenCount && !pending -> count++; pending = true; seenCount = count
      :: else -> goto again
      fi
    };
    stop_or_go()
  :: else
  fi;
  if
  :: counted >= CAPACITY ->
    if
    :: mine == 1 && !(count == seenCount && pending) && CARELESS != 3 -> goto again
    :: else
    fi;
    /* Refused, or another key is dropped. */
    assert(false)
  :: else
  fi;
#if CARELESS == 1
  atomic { counted++; assert(counted <= KEYS) };
#endif
  atomic {
    if
    :: mine == 2 -> filled2 = true; isFilled = true
    :: mine == 1 && version == held -> version++; filled = true; isFilled = true
    :: else
    fi
  };
  if
  :: isFilled ->
    stop_or_go_between();
#if CARELESS != 1
    atomic { counted++; assert(counted <= KEYS) }
#endif
  :: else
  fi;
  if
  :: mine == 1 ->
    atomic {
      if
      :: count == seenCount && pending -> pending = false
      :: else
      fi
    }
  :: else
  fi;
  if
  :: isFilled
  :: else -> goto again
  fi;
stopped:
  skip
}

/* Forgets key 2. */
proctype Forgetter() {
  bool isEmptied;

  if
  :: !filled2 -> goto stopped
  :: else
  fi;
#if CARELESS != 2
  counted--;
  stop_or_go_between();
#endif
  atomic { isEmptied = filled2; filled2 = false };
#if CARELESS == 2
  assert(counted <= KEYS);
  if
  :: isEmptied -> counted--
  :: else
  fi;
#else
  if
  :: !isEmptied && CARELESS != 4 -> atomic { counted++; assert(counted <= KEYS) }
  :: else
  fi;
#endif
stopped:
  skip
}

init {
  atomic {
    run Thread(1);
    run Thread(1);
    run Thread(2);
    run Forgetter();
    run Forgetter()
  };
  (_nr_pr == 1);
  assert(counted == KEYS - lost)
}
