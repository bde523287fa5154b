/* SPDX-License-Identifier: Apache-2.0 */
/* headroom's allocator behind the callbacks of ONNX Runtime's ROCm provider, and registered for the
   processor's: the functions of libheadroom_onnx.so. None of ONNX Runtime's headers is needed
   (microsoft/onnxruntime 1.22: onnxruntime/core/providers/rocm/rocm_allocator.cc,
   rocm_execution_provider_info.cc).

   There is one allocator for each GPU, made when the GPU's first block is asked for, from the
   settings in the environment (settings.h), and never destroyed. Any thread may call any
   function. */
#ifndef HEADROOM_FACES_ONNX_H
#define HEADROOM_FACES_ONNX_H

#include <headroom/allocator.h>

#define HEADROOM_ONNX_ABI 1

extern "C" {

/* The version of these functions; compare it with HEADROOM_ONNX_ABI after dlopen(). */
HEADROOM_API uint32_t headroom_onnx_abi();

/* Says without touching a GPU what the settings ask for: HEADROOM_ONNX_GPU, or, where the backend
   is "host", HEADROOM_ONNX_CPU. Returns 0 and a sentence if they make no sense or ask for what is
   not here. As much of the sentence as fits is written; `text` may be null. */
#define HEADROOM_ONNX_GPU 1
#define HEADROOM_ONNX_CPU 2
HEADROOM_API int headroom_onnx_check(char* text, size_t text_size);

/* For one GPU, as the provider's options take them, as numbers in decimal:
     gpu_external_alloc        void*(size_t bytes); throws std::bad_alloc with a text of its own, so
                               that the provider's caller gets that as an error. Never returns null.
     gpu_external_free         void(void* block). The memory is reused only when the GPU has done
                               all work that was queued by then.
     gpu_external_empty_cache  void(); idle memory goes back to the device. */
struct HeadroomOnnxCallbacks {
  size_t size; /* sizeof(HeadroomOnnxCallbacks). */
  void* allocate;
  void* release;
  void* empty_cache;
};

/* Fails with HEADROOM_INVALID for a number beyond the first 16 GPUs, or a size that is not the
   struct's. */
HEADROOM_API headroom_result headroom_onnx_get_callbacks(int device,
                                                         HeadroomOnnxCallbacks* callbacks);

/* Makes headroom's allocator the one of the processor's provider, for sessions with the setting
   session.use_env_allocators. ONNX Runtime must have called CreateEpFactories() before. Returns 1,
   or 0 and a sentence, as above. */
HEADROOM_API int headroom_onnx_register_cpu(char* text, size_t text_size);

/* What ONNX Runtime calls of a library that it is told of by register_execution_provider_library():
   the way to its interface. There are no providers here. Both return null, no error. */
// NOLINTBEGIN(readability-identifier-naming): ONNX Runtime looks for these names.
HEADROOM_API void* CreateEpFactories(const char* name, const void* api_base, const void* logger,
                                     void** factories, size_t max_factories, size_t* count);
HEADROOM_API void* ReleaseEpFactory(void* factory);
// NOLINTEND(readability-identifier-naming)

/* The allocator of a GPU, or with -1 of the processor's provider, for the calls of
   headroom/allocator.h; null before its first block, or before it is registered. */
HEADROOM_API headroom_allocator* headroom_onnx_allocator(int device);

struct HeadroomOnnxCounts {
  size_t size;            /* sizeof(HeadroomOnnxCounts). */
  uint64_t allocations;   /* Blocks that ONNX Runtime got. */
  uint64_t frees;         /* Blocks that it gave back. */
  uint64_t out_of_memory; /* Requests that failed for want of memory. */
  uint64_t foreign_frees; /* Frees of what is no block of ours; nothing was done. */
  uint64_t waits;         /* How often it waited for the GPU, to reuse what was given back. */
};

/* -1: of the processor's provider. Fails as headroom_onnx_get_callbacks(). */
HEADROOM_API headroom_result headroom_onnx_get_counts(int device, HeadroomOnnxCounts* counts);

}  // extern "C"

#endif
