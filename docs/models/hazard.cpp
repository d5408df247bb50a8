/*
 * The announcements of stores/shared/threads/announcements.ts in C++, for Relacy: a second opinion on
 * the weak memory that tests/stores/shared/weak_memory.test.ts explores by the store's own code.
 *
 * Two threads swap one slot, each with two spare blocks. Blocks are plain memory, so that a block
 * written while it is read is a data race, which Relacy reports. Versions are modulo 2. One of the
 * orders below may be weakened by the compiler's options; the run must then fail.
 */

#include <relacy/relacy.hpp>

#ifndef ANNOUNCE
#define ANNOUNCE seq_cst
#endif
#ifndef LOOK
#define LOOK seq_cst
#endif
#ifndef SWAP
#define SWAP seq_cst
#endif
#ifndef VET
#define VET seq_cst
#endif
#ifndef CLEAR
#define CLEAR release
#endif
#define ORDER_OF(name) rl::memory_order_##name
#define ORDER(name) ORDER_OF(name)

const int CALLS = 4;
const int BLOCKS = 5;

struct Hazard : rl::test_suite<Hazard, 2> {
  rl::atomic<int> slot;
  rl::atomic<int> announced[2];
  rl::var<int> count[BLOCKS];
  int admitted;

  void before() {
    slot.store(0, rl::memory_order_relaxed);
    for (int each = 0; each < 2; each++) announced[each].store(-1, rl::memory_order_relaxed);
    for (int each = 0; each < BLOCKS; each++) count[each]($) = 0;
    admitted = 0;
  }

  void thread(unsigned me) {
    int spare[2] = {1 + 2 * (int) me, 2 + 2 * (int) me};
    for (int call = 0; call < CALLS; call++) {
      int word = slot.load(rl::memory_order_relaxed);
      announced[me].store(word, ORDER(ANNOUNCE));
      if (slot.load(ORDER(LOOK)) == word) {
        int seen = count[word % BLOCKS]($);
        // The first spare block that the other thread does not announce.
        int other = announced[1 - me].load(ORDER(VET));
        int place = other != -1 && other % BLOCKS == spare[0] ? 1 : 0;
        count[spare[place]]($) = seen + 1;
        int next = (1 - word / BLOCKS) * BLOCKS + spare[place];
        if (slot.compare_exchange_strong(word, next, ORDER(SWAP))) {
          // The one given up last comes to use last.
          spare[place] = spare[1];
          spare[1] = word % BLOCKS;
          admitted++;
        }
      }
      announced[me].store(-1, ORDER(CLEAR));
    }
  }

  void after() {
    int held = count[slot.load(rl::memory_order_relaxed) % BLOCKS]($);
    RL_ASSERT(held == admitted);
  }
};

int main() {
  rl::test_params params;
  params.iteration_count = 300000;
  return rl::simulate<Hazard>(params) ? 0 : 1;
}
