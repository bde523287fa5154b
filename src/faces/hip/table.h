// SPDX-License-Identifier: Apache-2.0
// The runtime's own table of functions, HipDispatchTable: every function that libamdhip64 exports
// jumps through it, so who is in it is reached however a program came to the runtime. The runtime
// hands it to rocprofiler-register before anybody uses it, and we stand before that one. A profiler
// that wants the table too is handed it afterwards, so it sees what the program calls.
#pragma once

#include <atomic>
#include <cstdint>

#include "faces/hip/process.h"

namespace headroom::hip_face {

// Puts our functions into the table. `of_runtime` is code of the runtime that hands it out.
// Returns false, having changed nothing, if the table is not as expected: the symbols serve then.
// No function of HIP may be called here, because the runtime is in the middle of making the table.
bool take_table(const void* of_runtime, std::uint32_t version, void* table);

// What the table has in place of one function.
template <auto served>
class TableEntry;
template <class... Parameters, int (*served)(Parameters...)>
class TableEntry<served> {
 public:
  // Calls that we or the runtime make are the runtime's.
  static int call(Parameters... arguments) {
    return this_thread().inside ? next()(arguments...) : served(arguments...);
  }
  static bool is_taken() { return next() != nullptr; }
  static void take(void*& entry) {
    former.store(reinterpret_cast<Function*>(entry), std::memory_order_release);
    entry = reinterpret_cast<void*>(&call);
  }

 private:
  using Function = int(Parameters...);
  static Function* next() { return former.load(std::memory_order_acquire); }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): there is one table.
  static inline std::atomic<Function*> former = nullptr;
};

// Answers a program that came by a symbol. Where the table has our function, the runtime's own one
// is called, which ends there: so a profiler sees the call.
template <auto served, class Function, class... Arguments>
int by_symbol(Function* of_runtime, Arguments... arguments) {
  if (of_runtime != nullptr && !this_thread().inside && TableEntry<served>::is_taken())
    return of_runtime(arguments...);
  return served(arguments...);
}

}  // namespace headroom::hip_face
