// SPDX-License-Identifier: Apache-2.0
/* headroom's device-memory allocator for other programs: plug-ins of frameworks, shims, anything
   that can call C.

   Ownership. A headroom_allocator is the caller's from headroom_allocator_create() to
   headroom_allocator_destroy(). Blocks are the allocator's memory, lent to the caller from allocate
   to free. Strings and structs that are passed in are read during the call and not kept. What is
   written goes into the caller's memory.

   Threads. Every function may be called from any thread at any time, but for
   headroom_allocator_destroy(), which is called when nobody uses the allocator any more. Errors are
   kept for each thread.

   Errors. Functions return a headroom_result, or a null pointer where they would return one;
   headroom_last_error() then says what was expected, what was found and what to do next. Success
   does not touch it. No function throws, ends the process or prints.

   Units. Sizes are bytes, sizes of blocks are multiples of 512, and the capacity counts in pages of
   2 MiB.

   Streams. A headroom_stream is the device's own handle (hipStream_t, cudaStream_t); null is the
   default stream. A block that was freed on a stream is reused on that stream at once, and by
   others when the stream's work is done.

   Processes. A forked child has none of the memory: its calls fail with HEADROOM_UNSUPPORTED and
   touch nothing. At the end of a process nothing needs to be freed or destroyed.

   Stability. Structs begin with their size, which the caller sets (the _INIT macros do): a newer
   library serves older callers. Functions are only ever added while HEADROOM_ALLOCATOR_ABI stays
   the same. The library's file is libheadroom_allocator.so.N for ABI N. */
#ifndef HEADROOM_ALLOCATOR_H
#define HEADROOM_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEADROOM_API __attribute__((visibility("default")))
#else
#define HEADROOM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HEADROOM_ALLOCATOR_ABI 1

/* The ABI of the library that is loaded; compare it with HEADROOM_ALLOCATOR_ABI after dlopen(). */
HEADROOM_API uint32_t headroom_allocator_abi(void);

typedef struct headroom_allocator headroom_allocator;
typedef void* headroom_stream;

typedef int32_t headroom_result;
enum {
  HEADROOM_OK = 0,
  HEADROOM_INVALID =
      1, /* An argument makes no sense: a null allocator, a pointer that is no live block, … */
  HEADROOM_UNSUPPORTED = 2,   /* It makes sense, and this machine or this process cannot do it. */
  HEADROOM_OUT_OF_MEMORY = 3, /* The capacity, the budget or the device has no room. */
  HEADROOM_IO = 4             /* A file could not be read or written. */
};

/* Of this thread's last call that failed; empty before the first. Valid until the thread's next
 * failing call. */
HEADROOM_API const char* headroom_last_error(void);
HEADROOM_API headroom_result headroom_last_result(void);

/* -- Creating
 * ------------------------------------------------------------------------------------------------------
 */

enum {
  HEADROOM_BACKEND_HOST = 0, /* Memory of this machine: for tests and training on the CPU. */
  HEADROOM_BACKEND_HIP =
      1, /* An AMD GPU. The HIP runtime is opened when the allocator is created. */
  HEADROOM_BACKEND_CUDA = 2,     /* An NVIDIA GPU, by its driver. */
  HEADROOM_BACKEND_SIMULATED = 3 /* Counts only; addresses point to nothing. */
};

enum {
  HEADROOM_VIRTUAL_MEMORY_AS_TESTED =
      0, /* On a GPU only where a kept self-test passed (see self_test_path). */
  HEADROOM_VIRTUAL_MEMORY_OFF = 1,
  HEADROOM_VIRTUAL_MEMORY_REQUIRED = 2 /* As tested, or the allocator is not created. */
};

enum {
  HEADROOM_PLANNING_BACKGROUND =
      0, /* Repeating iterations get a plan, computed by a thread of the allocator's own. */
  HEADROOM_PLANNING_INLINE =
      1, /* The same, computed by the thread that allocates: deterministic. */
  HEADROOM_PLANNING_OFF = 2
};

typedef struct headroom_allocator_options {
  size_t size;             /* sizeof(headroom_allocator_options). */
  uint32_t backend;        /* HEADROOM_BACKEND_… */
  int32_t device;          /* The GPU's number, as HIP or CUDA counts. */
  uint64_t capacity_bytes; /* The most to hold; rounded down to whole pages. 0 on a GPU: all that it
                              has. */
  uint32_t virtual_memory; /* HEADROOM_VIRTUAL_MEMORY_… */
  uint32_t planning;       /* HEADROOM_PLANNING_… */
  /* Results of self-tests of virtual memory. Null: the user's own, where `headroom test
   * --virtual-memory` keeps them ($XDG_CACHE_HOME/headroom/virtual-memory.json, or that below
   * ~/.cache). Empty: there are none. */
  const char* self_test_path;
  /* What HIP calls gcnArchName, "gfx1100": whose self-test counts. Null: nobody's. CUDA does not
   * need it. */
  const char* gpu_target;
  /* Where the last events are recorded, readable after a crash; null: nowhere. Replaces an older
   * recording, but none that is still being written. */
  const char* flight_recorder_path;
  /* How many of each of the first 16 streams are kept; 0: 16,384, which take 8.5 MiB in
   * all. As many of what is taken from the device and given back are kept besides. */
  uint64_t flight_recorder_events;
  /* A file by which the processes on one device keep to their shares, one file for each device;
   * null: none. */
  const char* budget_path;
  uint64_t
      budget_total_bytes; /* What the processes share, the same for all of them; 0: the capacity. */
  uint64_t budget_share_bytes; /* What this process can always have; 0: an equal part of what others
                                  leave. */
} headroom_allocator_options;

#define HEADROOM_ALLOCATOR_OPTIONS_INIT \
  { sizeof(headroom_allocator_options), HEADROOM_BACKEND_HOST, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Null where it fails. A size smaller than that of the first version's struct is refused; members
   that an older caller does not know are as in HEADROOM_ALLOCATOR_OPTIONS_INIT. */
HEADROOM_API headroom_allocator* headroom_allocator_create(
    const headroom_allocator_options* options);

/* Everything goes back to the device, live blocks included. Waits for the device. Null is allowed,
   and so is what was destroyed before: later calls with it fail with HEADROOM_INVALID. */
HEADROOM_API void headroom_allocator_destroy(headroom_allocator* allocator);

/* -- Text
 * ----------------------------------------------------------------------------------------------------------
 */

/* Functions that write text take a buffer and its size, write as much as fits with a terminating
   zero, and return the length of the whole text without the zero: ask with (NULL, 0), or again with
   more. 0 where they fail. */

/* One sentence on what this allocator is: backend, capacity, and whether it uses virtual memory and
 * why. */
HEADROOM_API size_t headroom_allocator_describe(headroom_allocator* allocator, char* buffer,
                                                size_t buffer_size);

/* -- Blocks
 * --------------------------------------------------------------------------------------------------------
 */

/* What memory is for. */
enum {
  HEADROOM_WEIGHTS = 0,
  HEADROOM_ADAPTERS = 1,
  HEADROOM_GRADIENTS = 2,
  HEADROOM_OPTIMIZER = 3,
  HEADROOM_ACTIVATIONS = 4,
  HEADROOM_LOGITS = 5,
  HEADROOM_KV_CACHE = 6,
  HEADROOM_WORKSPACE = 7,
  HEADROOM_OTHER = 8,
  HEADROOM_COMPONENTS = 9
};

/* A number for a tensor's name, which reports then show; equal names have equal numbers. 0, no
   name, for an empty or null one, and for new ones after 65,535. Who allocates often asks once and
   keeps the number. */
HEADROOM_API uint16_t headroom_name(headroom_allocator* allocator, const char* name);

typedef struct headroom_tag {
  uint16_t component; /* HEADROOM_WEIGHTS … */
  uint16_t name;      /* Of headroom_name(), or 0. */
} headroom_tag;

/* A block of at least `bytes` that begins at a multiple of 512, for use on `stream`; a request of 0
   bytes gets one of the smallest size. Null where there is no room: nothing that was live is moved
   or lost by that, and headroom_explain() says why. */
HEADROOM_API void* headroom_allocate(headroom_allocator* allocator, uint64_t bytes,
                                     headroom_stream stream, headroom_tag tag);

/* `stream` is the one whose work used the block last, as the caller knows it: where it is another
   than the block was allocated for, the memory also waits for what is queued there. Null pointers
   are ignored. HEADROOM_INVALID, and nothing happens, for what is no live block. */
HEADROOM_API headroom_result headroom_free(headroom_allocator* allocator, void* block,
                                           headroom_stream stream);

/* For callers that know no streams (hipFree, ONNX Runtime): the memory is reused only when
   everything is done that was queued until now on any stream that this allocator has heard of. */
HEADROOM_API headroom_result headroom_free_after_all(headroom_allocator* allocator, void* block);

/* Moves a live block to another component: a gradient is born as a backward temporary. */
HEADROOM_API headroom_result headroom_retag(headroom_allocator* allocator, void* block,
                                            uint16_t component);

/* The block is used by work of that stream as well: after its free it waits for what the stream has
 * queued by then. */
HEADROOM_API headroom_result headroom_record_stream(headroom_allocator* allocator, void* block,
                                                    headroom_stream stream);

typedef struct headroom_block {
  size_t size;    /* sizeof(headroom_block). */
  void* base;     /* Where the block begins. */
  uint64_t bytes; /* As rounded. */
} headroom_block;

#define HEADROOM_BLOCK_INIT \
  { sizeof(headroom_block), 0, 0 }

/* The live block that `pointer` points into. From a block's start this is quick; from its middle it
 * looks at all. */
HEADROOM_API headroom_result headroom_find_block(headroom_allocator* allocator, const void* pointer,
                                                 headroom_block* block);

/* -- Streams
 * -------------------------------------------------------------------------------------------------------
 */

/* The caller has waited for the stream: what was freed on it may be reused anywhere. */
HEADROOM_API headroom_result headroom_synchronize(headroom_allocator* allocator,
                                                  headroom_stream stream);

/* The stream is about to be destroyed, and its work is done. Its handle means another stream from
 * now on. */
HEADROOM_API headroom_result headroom_forget_stream(headroom_allocator* allocator,
                                                    headroom_stream stream);

/* -- Graphs
 * --------------------------------------------------------------------------------------------------------
 */

/* Between the two, what `stream` allocates comes from memory that belongs to the pool alone: a
   captured graph uses the same addresses each time it runs. Pools are the caller's numbers; one can
   be used again. HEADROOM_INVALID for the end or the release of a pool that was never begun, or is
   released already. */
HEADROOM_API headroom_result headroom_begin_pool(headroom_allocator* allocator, uint64_t pool,
                                                 headroom_stream stream);
HEADROOM_API headroom_result headroom_end_pool(headroom_allocator* allocator, uint64_t pool);
/* The graph is gone: the pool's memory is free for all, what still lives in it when that is freed.
 */
HEADROOM_API headroom_result headroom_release_pool(headroom_allocator* allocator, uint64_t pool);

/* -- Memory
 * --------------------------------------------------------------------------------------------------------
 */

/* Gives the device what is wholly free and not part of a plan (torch.cuda.empty_cache); how much
   through `returned`, which may be null. Waits for streams. */
HEADROOM_API headroom_result headroom_trim(headroom_allocator* allocator, uint64_t* returned);

/* Changes the capacity. What is held beyond it goes back as it becomes free; until then nothing new
 * is taken. */
HEADROOM_API headroom_result headroom_set_capacity(headroom_allocator* allocator, uint64_t bytes);

typedef struct headroom_usage {
  size_t size; /* sizeof(headroom_usage). */
  uint64_t capacity_bytes;
  uint64_t live_bytes; /* In blocks, as rounded. */
  uint64_t live_peak_bytes;
  uint64_t reserved_bytes; /* Taken from the device. */
  uint64_t reserved_peak_bytes;
  uint64_t live_by_component[HEADROOM_COMPONENTS];
  uint64_t live_at_peak[HEADROOM_COMPONENTS];
  uint64_t device_calls; /* Asked of the device so far. */
} headroom_usage;

#define HEADROOM_USAGE_INIT \
  { sizeof(headroom_usage), 0, 0, 0, 0, 0, {0}, {0}, 0 }

HEADROOM_API headroom_result headroom_get_usage(headroom_allocator* allocator,
                                                headroom_usage* usage);

/* live_peak_bytes, live_at_peak and reserved_peak_bytes become what is live and reserved now, and
   count from there (torch.cuda.reset_peak_memory_stats). */
HEADROOM_API headroom_result headroom_reset_peaks(headroom_allocator* allocator);

typedef struct headroom_stats {
  size_t size;           /* sizeof(headroom_stats). */
  uint64_t growths;      /* Memory was taken from the device because a request could not be met. */
  uint64_t repairs;      /* Free pages were moved to one range. */
  uint64_t moved_pages;  /* By repairs. */
  uint64_t flushes;      /* Idle memory went back to the device. */
  uint64_t waits;        /* For streams, because nothing else was left. */
  uint64_t misused;      /* Frees of what was no live block. */
  uint64_t iterations;   /* Found to repeat. */
  uint64_t plans;        /* Made and moved over to. */
  uint64_t planned;      /* Allocations that got their planned place. */
  uint64_t broken_plans; /* Given up because memory was short. */
} headroom_stats;

#define HEADROOM_STATS_INIT \
  { sizeof(headroom_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

HEADROOM_API headroom_result headroom_get_stats(headroom_allocator* allocator,
                                                headroom_stats* stats);

/* -- Reports
 * -------------------------------------------------------------------------------------------------------
 */

enum { HEADROOM_FORMAT_TEXT = 0, HEADROOM_FORMAT_JSON = 1 };

typedef struct headroom_request {
  uint64_t bytes;
  headroom_stream stream;
  headroom_tag tag;
} headroom_request;

/* Why a request fails, as things are now: ask right after headroom_allocate() returned null. Text
   for people, or JSON as one of `oom_events` in docs/schema/train.schema.json. Text: see above. */
HEADROOM_API size_t headroom_explain(headroom_allocator* allocator, const headroom_request* request,
                                     uint32_t format, char* buffer, size_t buffer_size);

/* The present state, and the flight recorder's events where there is one, as a pickle in the format
   of torch.cuda.memory._dump_snapshot, for pytorch.org/memory_viz. Replaces the file. */
HEADROOM_API headroom_result headroom_write_snapshot(headroom_allocator* allocator,
                                                     const char* path);

#ifdef __cplusplus
}
#endif

#endif
