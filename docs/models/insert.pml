/*
 * A new key in a bucket: stores/shared/table/insert.ts (scan, breakIntent, claim, fill).
 *
 * Two or three threads take from the same key, which is in none of the bucket's two slots, and one
 * of which may be wanted by a thread with another key. A slot is version and key (0: empty); what
 * the key holds is the number of calls admitted, kept with the slot, because a swap changes both.
 * Whoever breaks an intent takes it back. Each step of a thread may be its last.
 *
 * Shown, over all orders of steps: the key never stands in both slots, so no call is decided on a
 * second copy of it; every swap that succeeded is in the count; and nobody waits for a thread that
 * has stopped with its intent set.
 */

#define SLOTS 2
#ifndef THREADS
#define THREADS 2
#endif
#ifndef TRIES
#define TRIES 4
#endif
#define NONE 255

byte version[SLOTS];
byte key[SLOTS];
byte uses[SLOTS];

/* The intent: count, whether there is one, and for which slot. */
byte count;
bool pending;
byte position;

byte admitted;
byte changes;

/* The key stands in one slot at most, at every instant. */
#define ONCE (!(key[0] == 1 && key[1] == 1))

proctype Thread(byte me; byte mine) {
  byte seenVersion[SLOTS], seenKey[SLOTS];
  byte seenCount, at, target, held, spot, used;
  bool seenPending, won;
  byte before, tries;

again:
  /* A race lost TRIES times in a row is not followed further. */
  if
  :: tries == TRIES -> goto done
  :: else -> tries++
  fi;
  before = changes;
  seenVersion[0] = 0; seenVersion[1] = 0; seenKey[0] = 0; seenKey[1] = 0;
  held = 0; used = 0;
  /* Step 1: the intent, broken if there is one. */
  atomic { seenCount = count; seenPending = pending; spot = position };
  if
  :: seenPending ->
    held = version[spot];
    if
    :: !(count == seenCount && pending) -> goto again
    :: else
    fi;
#ifndef CARELESS
    atomic {
      if
      :: version[spot] == held ->
        version[spot]++;
        changes++
      :: else
      fi
    };
    /* The intent is taken back for the other one. */
    atomic {
      if
      :: count == seenCount && pending ->
        count++;
        pending = false;
        changes++;
        seenCount = count;
        seenPending = false
      :: else -> goto again
      fi
    }
#endif
  :: else
  fi;
  at = 0;
  target = NONE;
  do
  :: at < SLOTS ->
    atomic { seenVersion[at] = version[at]; seenKey[at] = key[at]; used = uses[at] };
    if
    :: seenKey[at] == mine ->
      /* A known key: one swap. */
      if
      :: goto dead
      :: skip
      fi;
      atomic {
        if
        :: version[at] == seenVersion[at] ->
          version[at]++;
          uses[at] = used + 1;
          if
          :: mine == 1 -> admitted++
          :: else
          fi;
          changes++;
          goto done
        :: else ->
          assert(changes != before);
          goto again
        fi
      }
    /* Either of two empty slots: which one a thread takes depends on what it has seen. */
    :: seenKey[at] == 0 -> target = at
    :: seenKey[at] == 0 && target != NONE -> skip
    :: else
    fi;
    at++
  :: else -> break
  od;
  if
  :: target == NONE -> goto done
  :: else
  fi;
  if
  :: goto dead
  :: skip
  fi;
  /* Step 2. */
  atomic {
    if
    :: count == seenCount && pending == seenPending ->
      count++;
      pending = true;
      position = target;
      changes++;
      seenCount = count
    :: else ->
      goto again
    fi
  };
  if
  :: goto dead
  :: skip
  fi;
  /* Step 3. */
  atomic {
    won = false;
    if
    :: version[target] == seenVersion[target] ->
      version[target]++;
      key[target] = mine;
      uses[target] = 1;
      if
      :: mine == 1 -> admitted++
      :: else
      fi;
      changes++;
      won = true
    :: else
    fi;
    assert(ONCE)
  };
  if
  :: goto dead
  :: skip
  fi;
  atomic {
    if
    :: count == seenCount && pending -> pending = false
    :: else
    fi
  };
  if
  :: won -> goto done
  :: else -> goto again
  fi;
dead:
done:
  skip
}

init {
  atomic {
    run Thread(0, 1);
    run Thread(1, 1);
#if THREADS > 2
    run Thread(2, OTHER)
#endif
  };
  (_nr_pr == 1);
  assert(ONCE);
  assert((key[0] == 1 -> uses[0] : 0) + (key[1] == 1 -> uses[1] : 0) == admitted)
}
