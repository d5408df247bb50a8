/*
 * A new key whose bucket is full: stores/shared/table/insert.ts (scan, breakIntent, claim, fill).
 *
 * Bucket A has one slot, 0; the next bucket, B, has slots 1 and 2. A chain is A and B for keys whose
 * home is A, and B for those of B. Key 1 has its home in A, key 2 in B; key 3 holds A's only slot, until
 * it is forgotten at any step. Two threads take from key 1, and one from key 2 (OTHER 2), or one takes
 * from key 1 twice and one from key 4, whose home is A as well (OTHER 4). Each home has an intent: count, target, and the reach, which says whether
 * keys of A may stand in B. Each step of a thread may be its last.
 *
 * Shown, over all orders of steps: no key ever stands in two slots, wherever its bucket has room; every
 * swap that succeeded is in the count; and nobody waits for a thread that stopped with its intent set.
 *
 * CARELESS 1: the reach is not raised; 2: it is raised after the slot is filled; 3: it sinks though a key
 * of the home stands further out; 4: whoever breaks an intent leaves the slot's version as it is.
 */

#ifndef CARELESS
#define CARELESS 0
#endif
#ifndef TRIES
#define TRIES 2
#endif
#ifndef OTHER
#define OTHER 2
#endif
#define SLOTS 3
#define NONE 255
#define HOME(k) ((k) == 2)

byte version[SLOTS];
byte key[SLOTS];
byte uses[SLOTS];

byte count[2];
bool pending[2];
byte target[2];
bool reach[2];

byte admitted;

#define ONCE(k) ((key[0] == k) + (key[1] == k) + (key[2] == k) <= 1)

inline swapIn(slot, seen, what, units) {
  atomic {
    if
    :: version[slot] == seen ->
      version[slot]++;
      key[slot] = what;
      uses[slot] = units;
      won = true
    :: else -> won = false
    fi
  }
}

proctype Thread(byte mine; byte calls) {
  byte seenVersion[SLOTS], seenCount, at, last, spot, held, used, tries, place;
  bool seenReach, isFar, won, seenPending;

next:
  if
  :: calls == 0 -> goto done
  :: else -> calls--; tries = 0
  fi;
again:
  if
  :: tries == TRIES -> goto done
  :: else -> tries++
  fi;
  /* Step 1: the intent, broken if there is one. */
  atomic {
    seenCount = count[HOME(mine)];
    seenPending = pending[HOME(mine)];
    spot = target[HOME(mine)];
    seenReach = reach[HOME(mine)]
  };
  if
  :: seenPending ->
    held = version[spot];
    if
    :: !(count[HOME(mine)] == seenCount && pending[HOME(mine)]) -> goto again
    :: else
    fi;
#if CARELESS != 4
    atomic {
      if
      :: version[spot] == held -> version[spot]++
      :: else
      fi
    };
#endif
    atomic {
      if
      :: count[HOME(mine)] == seenCount && pending[HOME(mine)] ->
        count[HOME(mine)]++;
        pending[HOME(mine)] = false;
        seenCount = count[HOME(mine)]
      :: else -> goto again
      fi
    }
  :: else
  fi;
  /* The scan: the home, and as far as the reach says. */
  at = (HOME(mine) -> 1 : 0);
  last = ((HOME(mine) || seenReach) -> SLOTS : 1);
  place = NONE;
  isFar = false;
  do
  :: at < last ->
    atomic {
      seenVersion[at] = version[at];
      held = key[at];
      used = uses[at]
    };
    if
    :: held == mine ->
      if
      :: goto dead
      :: skip
      fi;
      atomic {
        swapIn(at, seenVersion[at], mine, used + 1);
        if
        :: won && mine == 1 -> admitted++
        :: else
        fi
      };
      if
      :: won -> goto next
      :: else -> goto again
      fi
    :: held == 0 && place == NONE -> place = at
    :: else ->
      if
      :: (held == 1 || held == 4) && !HOME(mine) && at > 0 -> isFar = true
      :: else
      fi
    fi;
    at++
  :: else -> break
  od;
  /* Beyond the reach for room only. */
  do
  :: place == NONE && at < SLOTS ->
    atomic {
      seenVersion[at] = version[at];
      if
      :: key[at] == 0 -> place = at
      :: else
      fi;
      at++
    }
  :: else -> break
  od;
  if
  :: place == NONE -> goto next
  :: else
  fi;
  if
  :: goto dead
  :: skip
  fi;
  /* Step 2, with the reach. */
  atomic {
    if
    :: count[HOME(mine)] == seenCount && !pending[HOME(mine)] ->
      count[HOME(mine)]++;
      pending[HOME(mine)] = true;
      target[HOME(mine)] = place;
      seenCount = count[HOME(mine)];
      if
      :: HOME(mine) == 0 ->
#if CARELESS == 0 || CARELESS == 4
        reach[0] = (place > 0 || isFar)
#endif
#if CARELESS == 3
        reach[0] = (place > 0)
#endif
#if CARELESS == 1 || CARELESS == 2
        skip
#endif
      :: else
      fi
    :: else -> goto again
    fi
  };
  if
  :: goto dead
  :: skip
  fi;
  /* Step 3. */
  atomic {
    swapIn(place, seenVersion[place], mine, 1);
    if
    :: won && mine == 1 -> admitted++
    :: else
    fi;
    assert(ONCE(1) && ONCE(OTHER))
  };
#if CARELESS == 2
  if
  :: goto dead
  :: skip
  fi;
  if
  :: HOME(mine) == 0 && place > 0 -> reach[0] = true
  :: else
  fi;
#endif
  if
  :: goto dead
  :: skip
  fi;
  atomic {
    if
    :: count[HOME(mine)] == seenCount && pending[HOME(mine)] -> pending[HOME(mine)] = false
    :: else
    fi
  };
  if
  :: won -> goto next
  :: else -> goto again
  fi;
dead:
done:
  skip
}

/* Forgets what stands in A at first, or does not. */
proctype Forget() {
  if
  :: atomic { key[0] == 3 -> key[0] = 0; version[0]++ }
  :: skip
  fi
}

init {
  key[0] = 3;
  atomic {
#if OTHER == 2
    run Thread(1, 1);
    run Thread(1, 1);
#else
    run Thread(1, 2);
#endif
    run Thread(OTHER, 1);
    run Forget()
  };
  (_nr_pr == 1);
  assert(ONCE(1) && ONCE(OTHER));
  assert((key[0] == 1 -> uses[0] : 0) + (key[1] == 1 -> uses[1] : 0) + (key[2] == 1 -> uses[2] : 0) == admitted)
}
