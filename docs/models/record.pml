/*
 * Threads' records that change hands: stores/shared/threads/thread.ts (claimRecord, claimNew, seizeRecord,
 * lockOwnRecord, detachThread).
 *
 * A record is locked while its word of announcement is not 0. A thread that begins a call locks the
 * record that it had last, by a swap from 0, and works with it if its own number stands there;
 * otherwise it unlocks it and attaches anew. Whoever attaches takes a new number, and then a record that
 * was given back, by a swap of the owner's word; or that of a thread that is in no call, by a swap of
 * the owner's word under the lock; or one never used, whose place nobody else is given. Three threads
 * make calls now and then on two records, and give theirs back or not. Each may stop after any step.
 *
 * Shown, over all orders of steps: a thread works only with a record that is its own, alone; a record whose thread has
 * stopped in a call is nobody's again; and whoever is given the place of a record never used gets it.
 *
 * CARELESS 1: the caller does not look whose the record is that it has locked. CARELESS 2: the taker
 * does not lock the record. CARELESS 3: records never used are taken over like others. CARELESS 4:
 * whoever finds a record locked unlocks it. CARELESS 5: the record is given back by a plain store.
 */

#ifndef CARELESS
#define CARELESS 0
#endif
#define RECORDS 2
#define CALLS 1
#define NEVER_USED 0
#define GIVEN_BACK 1
#define NOBODY 2

bool locked[RECORDS];
byte owner[RECORDS];
byte used;
byte numbers = NOBODY;
byte working[RECORDS];

inline swap(record, before, after) {
  atomic {
    swapped = (owner[record] == before);
    if
    :: swapped -> owner[record] = after
    :: else
    fi
  }
}

inline lock(record) {
  atomic {
    swapped = !locked[record];
    locked[record] = true
  }
}

inline attach() {
  atomic { numbers++; mine = numbers };
  if
  :: used > 0 -> at = 0
  :: used > 1 -> at = 1
  :: used < RECORDS ->
    atomic { at = used; used++ };
    if
    :: at >= RECORDS -> atomic { used--; goto stopped }
    :: else
    fi;
    swap(at, NEVER_USED, mine);
    assert(swapped);
    goto attached
  fi;
  seen = owner[at];
  if
  :: seen == GIVEN_BACK -> swap(at, GIVEN_BACK, mine)
#if CARELESS != 3
  :: seen == NEVER_USED -> goto stopped
#endif
  :: else ->
#if CARELESS != 2
    lock(at);
    if
    :: !swapped ->
#if CARELESS == 4
      locked[at] = false;
#endif
      goto stopped
    :: else
    fi;
#endif
    swap(at, seen, mine);
#if CARELESS != 2
    locked[at] = false
#endif
  fi;
  if
  :: !swapped -> goto stopped
  :: else
  fi;
attached:
  record = at
}

proctype Thread() {
  byte mine = NOBODY, seen, calls, at, record;
  bool swapped;
  attach();
  do
  :: calls < CALLS ->
    calls++;
    lock(record);
    if
    :: !swapped -> goto stopped
    :: else
    fi;
#if CARELESS != 1
    if
    :: owner[record] != mine -> locked[record] = false; break
    :: else
    fi;
#endif
    working[record]++;
    assert(working[record] == 1 && owner[record] == mine);
    if
    :: goto stopped
    :: skip
    fi;
    assert(owner[record] == mine);
    working[record]--;
    locked[record] = false
  :: true ->
    /* Gives the record back, unless it is no more its own. */
#if CARELESS == 5
    owner[record] = GIVEN_BACK;
#else
    swap(record, mine, GIVEN_BACK);
#endif
    goto stopped
  :: true -> goto stopped
  od;
  /* It has lost its record: once more, with another one. */
  if
  :: numbers < NOBODY + 4 -> goto again
  :: else -> goto stopped
  fi;
again:
  run Thread();
stopped:
  skip
}

init {
  atomic { run Thread(); run Thread(); run Thread() }
}
