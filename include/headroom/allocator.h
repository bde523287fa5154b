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
  /* An argument makes no sense: a null allocator, a pointer that is no live block, … */
  HEADROOM_INVALID = 1,
  HEADROOM_UNSUPPORTED = 2,   /* It makes sense, but this machine or this process cannot do it. */
  HEADROOM_OUT_OF_MEMORY = 3, /* The capacity, the budget or the device has no room. */
  HEADROOM_IO = 4             /* A file could not be read or written. */
};

/* The message and the result of this thread's last call that failed; empty and HEADROOM_OK before
   the first. The text is valid until the thread's next failing call. */
HEADROOM_API const char* headroom_last_error(void);
HEADROOM_API headroom_result headroom_last_result(void);

/* -- Creating ---------------------------------------------------------------------------------- */

enum {
  HEADROOM_BACKEND_HOST = 0, /* Memory of this machine: for tests and training on the CPU. */
  /* An AMD GPU. The HIP runtime is loaded when the allocator is created. */
  HEADROOM_BACKEND_HIP = 1,
  HEADROOM_BACKEND_CUDA = 2,     /* An NVIDIA GPU, through its driver. */
  HEADROOM_BACKEND_SIMULATED = 3 /* Only counts; addresses point to nothing. */
};

enum {
  /* On a GPU only if a self-test passed whose result was kept (see self_test_path). */
  HEADROOM_VIRTUAL_MEMORY_AS_TESTED = 0,
  HEADROOM_VIRTUAL_MEMORY_OFF = 1,
  HEADROOM_VIRTUAL_MEMORY_REQUIRED = 2 /* As tested, or the allocator is not created. */
};

enum {
  /* Iterations that repeat get a plan, which the allocator's own thread computes. */
  HEADROOM_PLANNING_BACKGROUND = 0,
  /* The thread that allocates computes the plan, which makes runs deterministic. */
  HEADROOM_PLANNING_INLINE = 1,
  HEADROOM_PLANNING_OFF = 2
};

typedef struct headroom_allocator_options {
  size_t size;      /* sizeof(headroom_allocator_options). */
  uint32_t backend; /* HEADROOM_BACKEND_… */
  int32_t device;   /* The GPU's number, as HIP or CUDA counts. */
  /* The most to hold, rounded down to whole pages. On a GPU 0 means all that it has. */
  uint64_t capacity_bytes;
  uint32_t virtual_memory; /* HEADROOM_VIRTUAL_MEMORY_… */
  uint32_t planning;       /* HEADROOM_PLANNING_… */
  /* Results of self-tests of virtual memory. Null: the user's own, where `headroom test
   * --virtual-memory` keeps them ($XDG_CACHE_HOME/headroom/virtual-memory.json, or that below
   * ~/.cache). Empty: there are none. */
  const char* self_test_path;
  /* HIP's gcnArchName, such as "gfx1100", by which the GPU's self-test is found; null: no test
     counts. CUDA does not need it. */
  const char* gpu_target;
  /* A file for the last events, which can be read after a crash; null for none. Replaces an older
     recording, unless that is still being written. */
  const char* flight_recorder_path;
  /* How many events of each of the first 16 streams are kept, and as many about device memory;
     0 means 16,384, which take 8.5 MiB in all. */
  uint64_t flight_recorder_events;
  /* A file through which the processes on one device share its memory, one file for each device;
     null for none. */
  const char* budget_path;
  /* What the processes share, the same for all of them; 0 means the capacity. */
  uint64_t budget_total_bytes;
  /* What this process can always have; 0 means an equal part of what fixed shares leave. */
  uint64_t budget_share_bytes;
  /* What has to stay free for the desktop and the system: "2GiB" of the GPU, as its driver counts,
   * or of pools by the GPU's address: "0000:0b:00.0/ram=2147483648,0000:0b:00.0/gtt=268435456"
   * (vram, gtt and ram; bytes). More is then refused as if there were no more. Null: nothing. */
  const char* guard;
} headroom_allocator_options;

#define HEADROOM_ALLOCATOR_OPTIONS_INIT \
  { sizeof(headroom_allocator_options), HEADROOM_BACKEND_HOST, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Returns null if it fails. A size below that of the first version's struct is refused; members
   that an older caller does not know are as in HEADROOM_ALLOCATOR_OPTIONS_INIT. */
HEADROOM_API headroom_allocator* headroom_allocator_create(
    const headroom_allocator_options* options);

/* Gives everything back to the device, including live blocks, and waits for the device. `allocator`
   may be null, or destroyed already: other calls with it then fail with HEADROOM_INVALID. */
HEADROOM_API void headroom_allocator_destroy(headroom_allocator* allocator);

/* -- Text -------------------------------------------------------------------------------------- */

/* Functions that write text take a buffer and its size, write as much as fits with a terminating
   zero, and return the length of the whole text without the zero. A caller can ask for the length
   with (NULL, 0), or again with a larger buffer. They return 0 if they fail. */

/* Describes this allocator in one sentence: the backend, the capacity, and whether it uses virtual
   memory and why. */
HEADROOM_API size_t headroom_allocator_describe(headroom_allocator* allocator, char* buffer,
                                                size_t buffer_size);

/* -- Blocks ------------------------------------------------------------------------------------ */

/* What memory is used for. */
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

/* Returns a number for a tensor's name, which reports then show; equal names have equal numbers.
   Returns 0, no name, for an empty or null name, and for new names after 65,535. Callers that
   allocate often should ask once and keep the number. */
HEADROOM_API uint16_t headroom_name(headroom_allocator* allocator, const char* name);

typedef struct headroom_tag {
  uint16_t component; /* HEADROOM_WEIGHTS … */
  uint16_t name;      /* From headroom_name(), or 0. */
} headroom_tag;

/* Returns a block of at least `bytes` that begins at a multiple of 512, for use on `stream`; a
   request of 0 bytes gets a block of the smallest size. Returns null if there is no room: no live
   block is moved or lost by that, and headroom_explain() says why. */
HEADROOM_API void* headroom_allocate(headroom_allocator* allocator, uint64_t bytes,
                                     headroom_stream stream, headroom_tag tag);

/* `stream` is the one whose work used the block last, as far as the caller knows. If it is not the
   stream that the block was allocated for, the memory also waits for what is queued there. Null
   pointers are ignored. Fails with HEADROOM_INVALID, without any effect, for a pointer that is no
   live block. */
HEADROOM_API headroom_result headroom_free(headroom_allocator* allocator, void* block,
                                           headroom_stream stream);

/* For callers that do not know streams (hipFree, ONNX Runtime): the memory is reused only when
   everything is done that was queued until now on any stream that this allocator knows. */
HEADROOM_API headroom_result headroom_free_after_all(headroom_allocator* allocator, void* block);

/* Moves a live block to another component: a gradient is born as a backward temporary. */
HEADROOM_API headroom_result headroom_retag(headroom_allocator* allocator, void* block,
                                            uint16_t component);

/* Tells the allocator that work on this stream uses the block as well. After its free, the block
   waits for what the stream has queued by then. */
HEADROOM_API headroom_result headroom_record_stream(headroom_allocator* allocator, void* block,
                                                    headroom_stream stream);

typedef struct headroom_block {
  size_t size;    /* sizeof(headroom_block). */
  void* base;     /* Where the block begins. */
  uint64_t bytes; /* The rounded size. */
} headroom_block;

#define HEADROOM_BLOCK_INIT \
  { sizeof(headroom_block), 0, 0 }

/* Finds the live block that `pointer` points into. This is quick for a block's start; for a pointer
   into its middle it looks at all blocks. */
HEADROOM_API headroom_result headroom_find_block(headroom_allocator* allocator, const void* pointer,
                                                 headroom_block* block);

/* -- Streams ----------------------------------------------------------------------------------- */

/* Says that the caller has waited for the stream: what was freed on it may be reused anywhere. */
HEADROOM_API headroom_result headroom_synchronize(headroom_allocator* allocator,
                                                  headroom_stream stream);

/* Says that the stream is about to be destroyed and its work is done. From now on its handle means
   another stream. */
HEADROOM_API headroom_result headroom_forget_stream(headroom_allocator* allocator,
                                                    headroom_stream stream);

/* -- Graphs ------------------------------------------------------------------------------------ */

/* Between begin and end, blocks for `stream` come from memory that belongs to the pool alone,
   because a captured graph uses the same addresses each time it runs. The caller chooses the pools'
   numbers; a pool can be filled again. Ending or releasing a pool that was never begun, or is
   released already, fails with HEADROOM_INVALID. */
HEADROOM_API headroom_result headroom_begin_pool(headroom_allocator* allocator, uint64_t pool,
                                                 headroom_stream stream);
HEADROOM_API headroom_result headroom_end_pool(headroom_allocator* allocator, uint64_t pool);
/* Says that the graph is gone. The pool's memory can be used for anything; what still lives in it
   follows when it is freed. */
HEADROOM_API headroom_result headroom_release_pool(headroom_allocator* allocator, uint64_t pool);

/* -- Memory ------------------------------------------------------------------------------------ */

/* Gives memory that is wholly free and not part of a plan back to the device, like
   torch.cuda.empty_cache. `returned`, which may be null, gets how many bytes. Waits for streams. */
HEADROOM_API headroom_result headroom_trim(headroom_allocator* allocator, uint64_t* returned);

/* Changes the capacity. What is held beyond it goes back when it becomes free; until then nothing
   new is taken. */
HEADROOM_API headroom_result headroom_set_capacity(headroom_allocator* allocator, uint64_t bytes);

typedef struct headroom_usage {
  size_t size; /* sizeof(headroom_usage). */
  uint64_t capacity_bytes;
  uint64_t live_bytes; /* In blocks, after rounding. */
  uint64_t live_peak_bytes;
  uint64_t reserved_bytes; /* Taken from the device. */
  uint64_t reserved_peak_bytes;
  uint64_t live_by_component[HEADROOM_COMPONENTS];
  uint64_t live_at_peak[HEADROOM_COMPONENTS];
  uint64_t device_calls; /* Calls made to the device so far. */
} headroom_usage;

#define HEADROOM_USAGE_INIT \
  { sizeof(headroom_usage), 0, 0, 0, 0, 0, {0}, {0}, 0 }

HEADROOM_API headroom_result headroom_get_usage(headroom_allocator* allocator,
                                                headroom_usage* usage);

/* How many bytes can become live besides those that are, as far as the capacity, the shared budget
   and the guard allow it; with a shared budget it may be up to 64 MiB more, of which the share is
   taken already. The device may have less; its own figure (hipMemGetInfo) says so. */
HEADROOM_API headroom_result headroom_get_room(headroom_allocator* allocator, uint64_t* bytes);

/* How many bytes of the machine's memory may be taken, beside the allocator's, before the kernel
   kills or swaps: by MemAvailable, the control groups of this process and what the guard keeps of
   RAM. Fails with HEADROOM_UNSUPPORTED if the kernel does not say. */
HEADROOM_API headroom_result headroom_get_machine_room(headroom_allocator* allocator,
                                                       uint64_t* bytes);

/* Sets live_peak_bytes, live_at_peak and reserved_peak_bytes to what is live and reserved now, like
   torch.cuda.reset_peak_memory_stats. */
HEADROOM_API headroom_result headroom_reset_peaks(headroom_allocator* allocator);

typedef struct headroom_stats {
  size_t size;           /* sizeof(headroom_stats). */
  uint64_t growths;      /* Memory was taken from the device because a request could not be met. */
  uint64_t repairs;      /* Free pages were moved to one range. */
  uint64_t moved_pages;  /* Pages that repairs moved. */
  uint64_t flushes;      /* Idle memory went back to the device. */
  uint64_t waits;        /* It waited for streams, because nothing else was left. */
  uint64_t misused;      /* Frees of pointers that were no live block. */
  uint64_t iterations;   /* Iterations found. */
  uint64_t plans;        /* Plans that were put to use. */
  uint64_t planned;      /* Allocations that got their planned place. */
  uint64_t broken_plans; /* Plans given up because memory was short. */
} headroom_stats;

#define HEADROOM_STATS_INIT \
  { sizeof(headroom_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

HEADROOM_API headroom_result headroom_get_stats(headroom_allocator* allocator,
                                                headroom_stats* stats);

/* -- Reports ----------------------------------------------------------------------------------- */

enum { HEADROOM_FORMAT_TEXT = 0, HEADROOM_FORMAT_JSON = 1 };

typedef struct headroom_request {
  uint64_t bytes;
  headroom_stream stream;
  headroom_tag tag;
} headroom_request;

/* Explains why the request would fail now: ask right after headroom_allocate() returned null.
   Writes text for people, or JSON like one of `oom_events` in docs/schema/train.schema.json; see
   "Text". */
HEADROOM_API size_t headroom_explain(headroom_allocator* allocator, const headroom_request* request,
                                     uint32_t format, char* buffer, size_t buffer_size);

/* Writes the present state, and the events of the flight recorder if there is one, as a pickle in
   the format of torch.cuda.memory._dump_snapshot, for pytorch.org/memory_viz. Replaces the file. */
HEADROOM_API headroom_result headroom_write_snapshot(headroom_allocator* allocator,
                                                     const char* path);

#ifdef __cplusplus
}
#endif

#endif
