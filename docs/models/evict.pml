/*
 * Room for new keys on a full store: stores/shared/table/drop_keys.ts (takeFreePlace, makePlace),
 * table.ts (removeKey), insert.ts (fillEmpty).
 *
 * There are more slots than places. Each thread puts CALLS new keys in: it takes a place that is free,
 * or empties a slot, whose place is then its own; then it fills an empty slot, or gives the place back
 * if another thread was faster there. A slot's word is raised by each change, and odd while it holds a
 * key. Each step of a thread may be its last.
 *
 * Shown, over all orders of steps: never more keys than CAPACITY; the places counted are those of the
 * keys and one for each thread that died while it had one; and a thread tries again only when another
 * one has changed something in between.
 */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef CARELESS
#define CARELESS 0
#endif
#define CAPACITY 2
#define SLOTS 3
#define NONE 255

byte slot[SLOTS];
byte places;
byte lost;
byte changes;

#define KEYS ((slot[0] & 1) + (slot[1] & 1) + (slot[2] & 1))

proctype Thread() {
  byte call, at, word, victim, victimWord, room, roomWord, before;
  bool isFilled;

next:
  if
  :: call == CALLS -> goto done
  :: else -> call++
  fi;
again:
  before = changes;
  word = places;
  if
  :: word < CAPACITY ->
    atomic {
      if
      :: places == word -> places++; changes++
      :: else -> assert(changes != before); goto again
      fi
    }
  :: else ->
    at = 0;
    victim = NONE;
    do
    :: at < SLOTS ->
      atomic {
        word = slot[at];
        if
        :: (word & 1) -> victim = at; victimWord = word
        :: else
        fi;
        at++
      }
    :: else -> break
    od;
    if
    /* The places are those of threads that put keys in, or have died. */
    :: victim == NONE -> goto next
    :: goto done
    :: victim != NONE ->
      atomic {
        if
        :: slot[victim] == victimWord -> slot[victim]++; changes++
        :: else ->
          assert(changes != before);
          if
          :: CARELESS == 1
          :: else -> goto again
          fi
        fi
      }
    fi
  fi;
  if
  :: goto dead
  :: skip
  fi;
  at = 0;
  room = NONE;
  do
  :: at < SLOTS ->
    atomic {
      word = slot[at];
      if
      :: !(word & 1) -> room = at; roomWord = word
      :: !(word & 1) && room != NONE
      :: (word & 1)
      fi;
      at++
    }
  :: else -> break
  od;
  if
  :: goto dead
  :: skip
  fi;
  atomic {
    isFilled = false;
    if
    :: room == NONE
    :: room != NONE ->
      if
      :: slot[room] == roomWord || CARELESS == 2 ->
        slot[room]++;
        changes++;
        isFilled = true
      :: else
      fi
    fi;
    assert(KEYS <= CAPACITY)
  };
  if
  :: isFilled
  :: !isFilled ->
    if
    :: CARELESS == 3
    :: goto dead
    :: CARELESS != 3 -> atomic { places--; changes++ }
    fi
  fi;
  goto next;
dead:
  lost++;
done:
  skip
}

init {
  byte each;
  atomic {
    do
    :: each < THREADS -> run Thread(); each++
    :: else -> break
    od
  };
  (_nr_pr == 1);
  assert(KEYS <= CAPACITY);
  assert(places == KEYS + lost)
}
