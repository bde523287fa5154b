// SPDX-License-Identifier: Apache-2.0
#include "faces/hip/blocks.h"

namespace headroom::hip_face {
namespace {

constexpr unsigned non_blocking = 1;                 // hipStreamNonBlocking
constexpr std::uintptr_t stream_of_each_thread = 2;  // hipStreamPerThread

void* make_idle_stream() {
  const Inside inside;
  void* stream = nullptr;
  return process().runtime.create_stream(&stream, non_blocking) == success ? stream : nullptr;
}

void note_taken(Process& all, const void* block, const LiveBlock& what) {
  all.blocks.add(number(block), what);
  counts().allocations.fetch_add(1, std::memory_order_relaxed);
}

// Returns the code of HIP, or nothing if the runtime has to serve. An out of memory is not told
// yet.
std::optional<int> take(Process& all, headroom_allocator* allocator, void** out, std::size_t bytes,
                        const LiveBlock& what) {
  const Inside inside;
  void* const block = headroom_allocate(allocator, bytes, what.stream, {HEADROOM_OTHER, 0});
  if (block == nullptr && headroom_last_result() != HEADROOM_OUT_OF_MEMORY) return std::nullopt;
  *out = block;
  if (block == nullptr) return out_of_memory;
  note_taken(all, block, what);
  return success;
}

std::optional<int> tell(std::optional<int> code) {
  if (code != out_of_memory) return code;
  counts().out_of_memory.fetch_add(1, std::memory_order_relaxed);
  return noted(out_of_memory);
}

// What the pool has no room for, of the machine's memory.
bool take_of_host(Process& all, headroom_allocator* allocator, void** out, std::size_t bytes,
                  int device) {
  const Inside inside;
  void* const block = all.host_route.take(all.runtime, allocator, device, bytes);
  if (block == nullptr) return false;
  *out = block;
  note_taken(all, block, {device, nullptr, false, bytes});
  return true;
}

// Null if the stream's blocks are the runtime's.
headroom_allocator* allocator_of_stream(Process& all, void* pool, void* stream, int* device) {
  if (number(stream) == stream_of_each_thread || !all.runtime.has_stream_order()) return nullptr;
  headroom_allocator* const allocator = allocator_for(all, device);
  if (allocator == nullptr) return nullptr;
  const Inside inside;
  const Runtime& runtime = all.runtime;
  int of_stream = *device;
  if (stream != nullptr && runtime.stream_device(stream, &of_stream) != success) return nullptr;
  int is_capturing = 0;
  if (of_stream != *device || runtime.is_capturing(stream, &is_capturing) != success ||
      is_capturing != 0)
    return nullptr;
  void* own = nullptr;
  if (runtime.default_pool(&own, *device) != success) return nullptr;
  if (pool == nullptr && runtime.current_pool(&pool, *device) != success) return nullptr;
  if (pool != own || all.gpus.ready_idle_stream(*device, make_idle_stream) == nullptr)
    return nullptr;
  return all.gpus.use_pool(*device) ? allocator : nullptr;
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

// Frees the block in the order of the stream. Returns whether that was possible: an allocator can
// know so many streams, and no more.
bool give_away(Process& all, void* block, const LiveBlock& what, void* stream) {
  if (what.host_bytes != 0) {
    if (all.host_route.give_back(all.runtime, what.device, block, what.host_bytes) != success)
      return false;
    counts().frees.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  if (headroom_free(all.gpus.get(what.device), block, stream) != HEADROOM_OK) return false;
  counts().frees.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Returns the error, and keeps the block.
int refuse_to_free(Process& all, const void* block, const LiveBlock& what, int code) {
  all.blocks.add(number(block), what);
  return noted(code);
}

std::optional<LiveBlock> take_live(Process& all, void* block, std::optional<int>* refusal) {
  if (block == nullptr || this_thread().inside) return std::nullopt;
  const auto what = all.blocks.take(number(block));
  // The child of a fork() has none of the memory, and must not wait for a runtime whose threads it
  // does not have.
  if (what && all.is_child) {
    *refusal = noted(invalid_value);
    return std::nullopt;
  }
  if (!what && all.blocks.is_in_piece(number(block))) {
    counts().refused_frees.fetch_add(1, std::memory_order_relaxed);
    *refusal = noted(invalid_value);
  }
  return what;
}

int release_after_all(Process& all, void* block, const LiveBlock& what) {
  const Inside inside;
  // HIP promises this of hipFree(), and some programs rely on it. The streams that used the block
  // are not known here, so nothing less would do either.
  if (const int code = wait_for(all.runtime, what.device); code != success) {
    all.blocks.add(number(block), what);
    return code;
  }
  if (!give_away(all, block, what, what.stream))
    return refuse_to_free(all, block, what, invalid_value);
  // Nothing ever runs on the idle stream, and what was freed on it was waited for.
  void* const idle = all.gpus.idle_stream(what.device);
  if (idle != nullptr && what.stream == idle)
    static_cast<void>(headroom_synchronize(all.gpus.get(what.device), idle));
  return success;
}

// Null is the stream of the current device.
bool is_of_device(const Runtime& runtime, void* stream, int device) {
  int of_stream = -1;
  return runtime.stream_device(stream, &of_stream) == success && of_stream == device;
}

}  // namespace

std::optional<int> allocate(Process& all, void** out, std::size_t bytes) {
  int device = -1;
  headroom_allocator* const allocator =
      out == nullptr || bytes == 0 ? nullptr : allocator_for(all, &device);
  if (allocator == nullptr) return std::nullopt;
  // Before there is an idle stream, nothing is freed on the null stream that is still in use. If
  // one comes while this block is taken, the block is given back and taken anew.
  void* stream = all.gpus.idle_stream(device);
  for (;;) {
    const auto code = take(all, allocator, out, bytes, {device, stream, false, 0});
    void* const now = all.gpus.idle_stream(device);
    if (code == out_of_memory && take_of_host(all, allocator, out, bytes, device)) return success;
    if (!code || *code != success || now == stream) return tell(code);
    const Inside inside;
    all.blocks.take(number(*out));
    static_cast<void>(headroom_free(allocator, *out, stream));
    counts().allocations.fetch_sub(1, std::memory_order_relaxed);
    stream = now;
  }
}

std::optional<int> allocate_on_stream(Process& all, void** out, std::size_t bytes, void* pool,
                                      void* stream) {
  if (out == nullptr || bytes == 0) return std::nullopt;
  int device = -1;
  headroom_allocator* const allocator = allocator_of_stream(all, pool, stream, &device);
  if (allocator == nullptr) return std::nullopt;
  return tell(take(all, allocator, out, bytes, {device, stream, true, 0}));
}

std::optional<int> release(Process& all, void* block) {
  std::optional<int> refusal;
  const auto what = take_live(all, block, &refusal);
  return what ? release_after_all(all, block, *what) : refusal;
}

std::optional<int> release_on_stream(Process& all, void* block, void* stream) {
  std::optional<int> refusal;
  const auto what = take_live(all, block, &refusal);
  if (!what) return refusal;
  if (!what->is_stream_ordered || number(stream) == stream_of_each_thread)
    return release_after_all(all, block, *what);
  const Inside inside;
  int is_capturing = 0;
  int code = all.runtime.is_capturing(stream, &is_capturing);
  if (code == success && is_capturing != 0) code = capture_unsupported;
  if (code != success) return refuse_to_free(all, block, *what, code);
  if (is_of_device(all.runtime, stream, what->device) && give_away(all, block, *what, stream))
    return success;
  // A stream of another device cannot say when the block's own device is done with it, nor can one
  // that the allocator cannot know any more.
  code = all.runtime.wait_for_stream(stream);
  return code == success ? release_after_all(all, block, *what)
                         : refuse_to_free(all, block, *what, code);
}

int forget_stream(Process& all, void* stream) {
  if (stream == nullptr || this_thread().inside || !all.runtime.has_stream_order()) return success;
  const Inside inside;
  int device = -1;
  if (all.runtime.stream_device(stream, &device) != success ||
      all.gpus.idle_stream(device) == nullptr)
    return success;
  if (const int code = all.runtime.wait_for_stream(stream); code != success) return code;
  all.blocks.forget_stream(device, stream, all.gpus.idle_stream(device));
  static_cast<void>(headroom_forget_stream(all.gpus.get(device), stream));
  return success;
}

bool is_ours(Process& all, const void* address) {
  return !this_thread().inside && all.blocks.is_in_piece(number(address));
}

}  // namespace headroom::hip_face
