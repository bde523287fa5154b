/* SPDX-License-Identifier: Apache-2.0 */
/* headroom's allocator as PyTorch's pluggable allocator: the functions of libheadroom_torch.so.
   None of PyTorch's headers is needed; one library serves PyTorch from 2.4 on (pytorch/pytorch:
   torch/csrc/cuda/CUDAPluggableAllocator.h).

   PyTorch calls the first ten. They may be called from any thread. Allocating throws
   c10::OutOfMemoryError, which Python sees as torch.OutOfMemoryError; the others never throw. There
   is one allocator for each GPU, made when the GPU's first block is asked for, from the settings in
   the environment (settings.h). It is never destroyed: PyTorch frees blocks until the very end.

   The rest is for what installs the allocator. */
#ifndef HEADROOM_FACES_TORCH_H
#define HEADROOM_FACES_TORCH_H

#include <headroom/allocator.h>

#include <functional>
#include <utility>

#define HEADROOM_TORCH_ABI 1

namespace headroom::torch_face {
// c10::MempoolId_t.
using PoolKey = std::pair<unsigned long long, unsigned long long>;
// Whether what is allocated on a stream belongs to a capture.
using StreamFilter = std::function<bool(headroom_stream)>;
}  // namespace headroom::torch_face

extern "C" {

HEADROOM_API void* headroom_torch_malloc(size_t bytes, int device, headroom_stream stream);
HEADROOM_API void headroom_torch_free(void* block, size_t bytes, int device,
                                      headroom_stream stream);
HEADROOM_API void headroom_torch_init(int device_count);
/* torch.cuda.empty_cache(). */
HEADROOM_API void headroom_torch_reset();
/* torch.cuda.set_per_process_memory_fraction(): a share of all memory of the GPU. */
HEADROOM_API void headroom_torch_memory_fraction(double fraction, int device);
/* Returns where the block around `pointer` begins and writes its size; `pointer` itself, and
   nothing, if it is in no block of ours. */
HEADROOM_API void* headroom_torch_base_alloc(void* pointer, size_t* bytes);
HEADROOM_API void headroom_torch_record_stream(void* block, headroom_stream stream);
/* A graph's private pool. Filling begins as often as graphs share the pool, and the pool's memory
   is free for others when it was released as often. */
HEADROOM_API void headroom_torch_begin_allocate_to_pool(int device,
                                                        headroom::torch_face::PoolKey pool,
                                                        headroom::torch_face::StreamFilter filter);
HEADROOM_API void headroom_torch_end_allocate_to_pool(int device,
                                                      headroom::torch_face::PoolKey pool);
HEADROOM_API void headroom_torch_release_pool(int device, headroom::torch_face::PoolKey pool);

/* The version of these functions; compare it with HEADROOM_TORCH_ABI after dlopen(). */
HEADROOM_API uint32_t headroom_torch_abi();

/* Checks what can be checked without touching a GPU: the settings, and that the runtime of a GPU or
   the host's memory is chosen. Returns 1, or 0 and a sentence that says what is wrong. As
   much of it as fits is written; `text` may be null. */
HEADROOM_API int headroom_torch_check(char* text, size_t text_size);

/* The allocator of a GPU, for the calls of headroom/allocator.h; null before its first block. */
HEADROOM_API headroom_allocator* headroom_torch_allocator(int device);

/* Says what HIP calls gcnArchName of a GPU, by which its self-test of virtual memory is found.
   Without it AMD GPUs do without virtual memory. It counts until the GPU's first block is asked
   for. */
HEADROOM_API void headroom_torch_set_gpu_target(int device, const char* target);

struct HeadroomTorchCounts {
  size_t size = sizeof(HeadroomTorchCounts);
  uint64_t allocations = 0;     /* Blocks that PyTorch got. */
  uint64_t frees = 0;           /* Blocks that it gave back. */
  uint64_t allocated_bytes = 0; /* In all blocks that it got, as it asked for them. */
  uint64_t freed_bytes = 0;     /* In all blocks that it gave back. */
  uint64_t out_of_memory = 0;   /* Requests that failed for want of memory. */
  uint64_t foreign_frees = 0;   /* Frees of what is no block of ours; nothing was done. */
  uint64_t reserve_bytes = 0; /* Held back now; part of what is live, and no block of PyTorch's. */
};

/* Fails with HEADROOM_INVALID for no GPU's number, or a size that is not the struct's. */
HEADROOM_API headroom_result headroom_torch_get_counts(int device, HeadroomTorchCounts* counts);

/* Holds `bytes` back on a GPU, in place of what was held before; 0 gives it back. It is closed: it
   stays held. Returns how much is held, 0 if there is not enough memory or the GPU has had no
   block yet. */
HEADROOM_API uint64_t headroom_torch_keep_reserve(int device, uint64_t bytes);

/* From now on, an allocation that fails gives back what is held, and is tried again. */
HEADROOM_API void headroom_torch_open_reserve(int device);

}  // extern "C"

#endif
