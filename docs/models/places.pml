/*
 * The last places of a store: stores/shared/table/places.ts (take, areTaken), insert.ts (breakIntent,
 * fillEmpty, unclaim).
 *
 * Two threads bring the same key, and a third one brings another, into a store that has a place for
 * each of the two keys. Key 1 has one slot, version and whether it is filled, and an intent; nobody
 * else wants those of key 2. Each step of a thread may be its last. A thread that sees an insertion that
 * was broken off looks again; it assumes that the thread of that is dead only if, by then, no other was inserting.
 *
 * Shown, over all orders of steps: a key is refused only if a place was lost with a thread that died; the
 * places taken are those of keys and the lost ones; and an insertion stays counted as broken off only if a
 * thread died.
 *
 * CARELESS 1: nobody looks at what was broken off. CARELESS 2: it is counted after the intent was broken.
 * CARELESS 3: it is counted no longer before its place was given back. CARELESS 4: the count is not read
 * again after the places. CARELESS 5: nobody looks whether its own insertion was broken off.
 */

#ifndef CARELESS
#define CARELESS 0
#endif
#ifndef TRIES
#define TRIES 2
#endif
#define CAPACITY 2

byte places;
/* The slot of key 1. */
byte version;
bool filled;
bool filled2;
/* Its intent: count, and whether there is one. */
byte count;
bool pending;
/* Insertions broken off, and changes of their number: one word. */
short broken;
byte changes;

byte lost;
byte dead;
/* Threads that break off or insert key 1, and go on. */
byte inserting;

#define KEYS (filled + filled2)

inline stop_or_go() {
  if
  :: dead++; goto stopped
  :: skip
  fi
}

/* With a place that no key has. */
inline stop_or_go_with_place() {
  if
  :: atomic { dead++; lost++; goto stopped }
  :: skip
  fi
}

proctype Thread(byte mine) {
  byte held, seenCount, seenChanges, tries;
  short seenBroken, abandoned;
  bool seenPending, hasPlace, isFilled, isBroken, isInserting, isAlone;

again:
  atomic { inserting = inserting - isInserting; isInserting = false };
  isAlone = false; hasPlace = false; isFilled = false; isBroken = false; seenPending = false;
  held = 0; seenCount = 0; seenChanges = 0; seenBroken = 0;
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
#if CARELESS != 2
      atomic { broken++; changes++; inserting++; isInserting = true };
      stop_or_go();
#endif
      atomic {
        if
        :: count == seenCount && pending -> count++; pending = false; seenCount = count
        :: else -> isBroken = true
        fi
      };
#if CARELESS != 2
      if
      :: isBroken -> atomic { broken--; changes++ }; goto again
      :: else
      fi
#else
      if
      :: isBroken -> goto again
      :: else -> atomic { broken++; changes++ }
      fi
#endif
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
      :: count == seenCount && !pending ->
        count++;
        pending = true;
        seenCount = count;
        inserting = inserting + 1 - isInserting;
        isInserting = true
      :: else -> goto again
      fi
    };
    stop_or_go()
  :: else
  fi;
  atomic {
    if
    :: places < CAPACITY -> places++; hasPlace = true
    :: else
    fi
  };
  if
  :: !hasPlace ->
    atomic {
      seenBroken = broken;
      seenChanges = changes;
      isAlone = inserting == isInserting
    };
    if
    :: places < CAPACITY -> goto unclaim
    :: else
    fi;
#if CARELESS != 1
    if
    :: changes != seenChanges && CARELESS != 4 -> goto unclaim
    :: else
    fi;
    if
    :: seenBroken > abandoned && !isAlone -> goto unclaim
    :: else -> abandoned = seenBroken
    fi;
#endif
    if
    :: mine == 1 && !(count == seenCount && pending) && CARELESS != 5 -> goto unclaim
    :: else
    fi;
    /* Refused. */
    assert(lost > 0);
    goto unclaim
  :: else
  fi;
  stop_or_go_with_place();
  atomic {
    if
    :: mine == 2 -> filled2 = true; goto stopped
    :: mine == 1 && version == held -> version++; filled = true; isFilled = true
    :: else
    fi
  };
#if CARELESS == 3
  atomic {
    if
    :: count == seenCount && pending -> pending = false
    :: else -> broken--; changes++
    fi
  };
#endif
  if
  :: !isFilled -> stop_or_go_with_place(); places--
  :: else -> stop_or_go()
  fi;
#if CARELESS == 3
  goto settled;
#endif
unclaim:
  if
  :: mine == 1 ->
    atomic {
      if
      :: count == seenCount && pending -> pending = false
      :: else -> isBroken = true
      fi
    };
    if
    :: isBroken -> stop_or_go(); atomic { broken--; changes++ }
    :: else
    fi
  :: else
  fi;
settled:
  if
  :: isFilled
  :: else -> goto again
  fi;
stopped:
  atomic { inserting = inserting - isInserting; isInserting = false }
}

init {
  atomic {
    run Thread(1);
    run Thread(1);
    run Thread(2)
  };
  (_nr_pr == 1);
  assert(places == KEYS + lost);
  assert(dead > 0 || broken == 0)
}
