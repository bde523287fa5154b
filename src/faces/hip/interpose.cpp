// SPDX-License-Identifier: Apache-2.0
// The functions of HIP that headroom's allocator serves.
#include <algorithm>
#include <atomic>
#include <optional>
#include <string_view>
#include <utility>

#include "faces/hip/gpus.h"
#include "faces/hip/headroom_hip.h"
#include "faces/hip/interposed_names.h"
#include "faces/hip/live_blocks.h"
#include "faces/hip/runtime.h"

namespace headroom::hip_face {
namespace {

// The functions of HIP that are called here, of the runtime itself.
struct Runtime {
  decltype(&::hipMalloc) allocate = runtime_function<decltype(::hipMalloc)>("hipMalloc");
  decltype(&::hipFree) release = runtime_function<decltype(::hipFree)>("hipFree");
  decltype(&::hipFreeAsync) release_async =
      runtime_function<decltype(::hipFreeAsync)>("hipFreeAsync");
  decltype(&::hipMemGetInfo) memory_info =
      runtime_function<decltype(::hipMemGetInfo)>("hipMemGetInfo");
  decltype(&::hipGetLastError) take_error =
      runtime_function<decltype(::hipGetLastError)>("hipGetLastError");
  decltype(&::hipPeekAtLastError) peek_error =
      runtime_function<decltype(::hipPeekAtLastError)>("hipPeekAtLastError");
  decltype(&::hipGetProcAddress) find =
      runtime_function<decltype(::hipGetProcAddress)>("hipGetProcAddress");
  int (*get_device)(int*) = runtime_function<int(int*)>("hipGetDevice");
  int (*set_device)(int) = runtime_function<int(int)>("hipSetDevice");
  int (*wait_for_device)() = runtime_function<int()>("hipDeviceSynchronize");

  bool is_usable() const { return get_device && set_device && wait_for_device; }
};

struct Counts {
  std::atomic<std::uint64_t> allocations = 0;
  std::atomic<std::uint64_t> frees = 0;
  std::atomic<std::uint64_t> out_of_memory = 0;
  std::atomic<std::uint64_t> refused_frees = 0;
  std::atomic<std::uint64_t> passed_on = 0;
};

struct Process {
  Runtime runtime;
  Gpus gpus;
  LiveBlocks blocks;
};

// Interposed functions have no place for an object of ours, and are called from destructors of
// statics: the one object of the process, which is never destroyed. Whoever calls a function of HIP
// has loaded the runtime by then.
Process& process() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const made = new Process;
  return *made;
}

// Apart from the above, because asking for them must not need a runtime.
Counts& counts() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static auto* const made = new Counts;
  return *made;
}

// Of the calling thread. The runtime may call its own public functions while it serves us; `inside`
// says so. `error` is what hipGetLastError() has to say besides the runtime's own.
struct Thread {
  int error = success;
  bool inside = false;
};

Thread& this_thread() {
  thread_local Thread state;
  return state;
}

class Inside {
 public:
  Inside() : before_(std::exchange(this_thread().inside, true)) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { this_thread().inside = before_; }

 private:
  bool before_;
};

int noted(int code) {
  if (code != success) this_thread().error = code;
  return code;
}

std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// Null if the runtime has to serve: there is one allocator in a process, and PyTorch's comes first.
headroom_allocator* allocator_for(Process& all, int* device) {
  static const bool is_left_to_torch = has_torch_library();
  if (is_left_to_torch || this_thread().inside || !all.runtime.is_usable()) return nullptr;
  const Inside inside;
  if (all.runtime.get_device(device) != success) return nullptr;
  return all.gpus.ready(*device);
}

int allocate(void** out, std::size_t bytes) {
  Process& all = process();
  int device = -1;
  headroom_allocator* const allocator =
      out == nullptr || bytes == 0 ? nullptr : allocator_for(all, &device);
  void* block = nullptr;
  if (allocator != nullptr) {
    const Inside inside;
    // All blocks are for the null stream and come back when the whole device is done, so whichever
    // stream uses them is all the same.
    block = headroom_allocate(allocator, bytes, nullptr, {HEADROOM_OTHER, 0});
    if (block == nullptr && headroom_last_result() == HEADROOM_OUT_OF_MEMORY) {
      counts().out_of_memory.fetch_add(1, std::memory_order_relaxed);
      *out = nullptr;
      return noted(out_of_memory);
    }
  }
  if (block == nullptr) {
    if (!this_thread().inside) counts().passed_on.fetch_add(1, std::memory_order_relaxed);
    return all.runtime.allocate == nullptr ? not_initialized : all.runtime.allocate(out, bytes);
  }
  all.blocks.add(number(block), device);
  counts().allocations.fetch_add(1, std::memory_order_relaxed);
  *out = block;
  return success;
}

int wait_for(const Runtime& runtime, int device) {
  int before = device;
  if (const int code = runtime.get_device(&before); code != success) return code;
  if (before == device) return runtime.wait_for_device();
  if (const int code = runtime.set_device(device); code != success) return code;
  const int waited = runtime.wait_for_device();
  const int restored = runtime.set_device(before);
  return waited != success ? waited : restored;
}

// Nothing if the block is the runtime's.
std::optional<int> release_ours(Process& all, void* block) {
  if (block == nullptr || this_thread().inside) return std::nullopt;
  const auto device = all.blocks.take(number(block));
  if (!device) {
    if (!all.blocks.is_in_piece(number(block))) return std::nullopt;
    counts().refused_frees.fetch_add(1, std::memory_order_relaxed);
    return noted(invalid_value);
  }
  const Inside inside;
  // HIP promises this of hipFree(), and some programs rely on it. The streams that used the block
  // are not known here, so nothing less would do either.
  if (const int code = wait_for(all.runtime, *device); code != success) {
    all.blocks.add(number(block), *device);
    return code;
  }
  if (headroom_free(all.gpus.get(*device), block, nullptr) != HEADROOM_OK)
    return noted(invalid_value);  // A child of fork() has none of the memory.
  counts().frees.fetch_add(1, std::memory_order_relaxed);
  return success;
}

// What the allocator itself calls: the runtime's functions, watched.
int take_piece(void** out, std::size_t bytes) {
  const Inside inside;
  Process& all = process();
  const int code = all.runtime.allocate(out, bytes);
  if (code == success) all.blocks.add_piece(number(*out), bytes);
  return code;
}

int give_piece(void* piece) {
  const Inside inside;
  Process& all = process();
  all.blocks.remove_piece(number(piece));
  return all.runtime.release(piece);
}

}  // namespace

void* find_interposed(std::string_view name) {
  const std::pair<std::string_view, void*> functions[] = {
      {"hipMalloc", reinterpret_cast<void*>(&::hipMalloc)},
      {"hipFree", reinterpret_cast<void*>(&::hipFree)},
      {"hipFreeAsync", reinterpret_cast<void*>(&::hipFreeAsync)},
      {"hipMemGetInfo", reinterpret_cast<void*>(&::hipMemGetInfo)},
      {"hipGetLastError", reinterpret_cast<void*>(&::hipGetLastError)},
      {"hipPeekAtLastError", reinterpret_cast<void*>(&::hipPeekAtLastError)},
      {"hipGetProcAddress", reinterpret_cast<void*>(&::hipGetProcAddress)}};
  for (const auto& [known, function] : functions)
    if (known == name) return function;
  return nullptr;
}

void* find_watched(std::string_view name) {
  if (name == "hipMalloc") return reinterpret_cast<void*>(&take_piece);
  if (name == "hipFree") return reinterpret_cast<void*>(&give_piece);
  return nullptr;
}

}  // namespace headroom::hip_face

using namespace headroom::hip_face;  // NOLINT(google-build-using-namespace)

int hipMalloc(void** out, std::size_t bytes) {
  return allocate(out, bytes);
}

int hipFree(void* block) {
  Process& all = process();
  if (const auto code = release_ours(all, block)) return *code;
  return all.runtime.release == nullptr ? not_initialized : all.runtime.release(block);
}

int hipFreeAsync(void* block, void* stream) {
  Process& all = process();
  if (const auto code = release_ours(all, block)) return *code;
  const auto release = all.runtime.release_async;
  return release == nullptr ? not_initialized : release(block, stream);
}

int hipMemGetInfo(std::size_t* free, std::size_t* total) {
  const Process& all = process();
  if (all.runtime.memory_info == nullptr) return not_initialized;
  const int code = all.runtime.memory_info(free, total);
  int device = -1;
  if (code != success || free == nullptr || this_thread().inside || !all.runtime.is_usable() ||
      all.runtime.get_device(&device) != success)
    return code;
  headroom_usage usage = HEADROOM_USAGE_INIT;
  headroom_allocator* const allocator = all.gpus.get(device);
  if (allocator == nullptr || headroom_get_usage(allocator, &usage) != HEADROOM_OK) return code;
  const auto left = [](std::uint64_t of, std::uint64_t used) { return of - std::min(of, used); };
  *free = std::min<std::uint64_t>(*free + left(usage.reserved_bytes, usage.live_bytes),
                                  left(usage.capacity_bytes, usage.live_bytes));
  return code;
}

int hipGetLastError() {
  const auto take = process().runtime.take_error;
  const int of_runtime = take == nullptr ? success : take();
  const int own = std::exchange(this_thread().error, success);
  return of_runtime != success ? of_runtime : own;
}

int hipPeekAtLastError() {
  const auto peek = process().runtime.peek_error;
  const int of_runtime = peek == nullptr ? success : peek();
  return of_runtime != success ? of_runtime : this_thread().error;
}

int hipGetProcAddress(const char* name, void** out, int version, std::uint64_t flags,
                      void* status) {
  const auto find = process().runtime.find;
  if (find == nullptr) return not_initialized;
  const int code = find(name, out, version, flags, status);
  if (code != success || name == nullptr || out == nullptr) return code;
  if (void* const ours = find_interposed(name); ours != nullptr) *out = ours;
  return code;
}

int headroom_hip_get_counts(HeadroomHipCounts* out) {
  if (out == nullptr || out->size != sizeof *out) return 1;
  const Counts& from = counts();
  *out = {sizeof *out,        from.allocations,   from.frees,
          from.out_of_memory, from.refused_frees, from.passed_on};
  return 0;
}
