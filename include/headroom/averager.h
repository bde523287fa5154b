// SPDX-License-Identifier: Apache-2.0
/* headroom's averager for other programs: the processes of one job on one machine, one for each
   GPU, average their gradients through shared memory and survive the death of any of them.

   Buckets. Every rank starts the same buckets in the same order: same kind, type and number of
   elements. The result is the sum in fp32 in the order of ranks, divided by the number of ranks
   that took part; it does not depend on timing. Data in memory from headroom_averager_allocate()
   are averaged where they are; other data are copied in and out.

   Ranks that are lost. A rank whose process ends is noticed within 20 ms, one that is stopped
   within silent_ms, one that hangs within absent_ms; the latter two are ended (SIGKILL) before the
   others go on, because they could write into shared memory later. Then the bucket is finished
   without it, or fails on every rank: see policy. What it had begun, others finish. A rank that is
   started again is admitted at the next headroom_averager_step().

   Ownership. A headroom_averager is the caller's from open to close. Strings and structs that are
   passed in are read during the call and not kept.

   Threads. One thread calls at a time. The averager has a thread that watches the other ranks, and
   with `background` one that does the work; both block all signals.

   Errors. Functions return 0 or the status of the failure; headroom_averager_last_error() then
   says, for this thread, what was expected, what was found and what to do next. No function throws,
   ends this process or prints.

   Processes. A forked child has no part in the job: its calls fail and touch nothing. At the end of
   a process nothing needs to be closed, but then the others take it for dead, not for finished.

   Stability. Structs begin with their size, which the caller sets (the _INIT macros do). Functions
   are only ever added while HEADROOM_AVERAGER_ABI stays the same. The library's file is
   libheadroom_averager.so.N for ABI N. */
#ifndef HEADROOM_AVERAGER_H
#define HEADROOM_AVERAGER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEADROOM_AVERAGER_API __attribute__((visibility("default")))
#else
#define HEADROOM_AVERAGER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HEADROOM_AVERAGER_ABI 1

/* Returns HEADROOM_AVERAGER_ABI of the library that runs. */
HEADROOM_AVERAGER_API uint32_t headroom_averager_abi(void);

typedef struct headroom_averager headroom_averager;

typedef enum headroom_averager_status {
  HEADROOM_AVERAGER_OK = 0,
  HEADROOM_AVERAGER_INVALID = 1,       /* A wrong argument, or ranks that disagree. */
  HEADROOM_AVERAGER_NO_ROOM = 2,       /* /dev/shm or the arena is full. */
  HEADROOM_AVERAGER_BUSY = 3,          /* Another job has the name, or somebody did not come. */
  HEADROOM_AVERAGER_LOST = 4,          /* A rank is gone, and the policy or the kind asks for it. */
  HEADROOM_AVERAGER_NO_PERMISSION = 5, /* What has the name is not this user's own segment. */
  HEADROOM_AVERAGER_UNSUPPORTED = 6
} headroom_averager_status;

/* Returns "" if nothing failed in this thread. The text stays until the thread's next failure. */
HEADROOM_AVERAGER_API const char* headroom_averager_last_error(void);

enum {
  /* A bucket is averaged over the ranks that are present. */
  HEADROOM_AVERAGER_FINISH = 0,
  /* It fails on every rank with HEADROOM_AVERAGER_LOST, and the data stay as they were. */
  HEADROOM_AVERAGER_FAIL = 1
};

typedef struct headroom_averager_options {
  size_t size; /* sizeof(headroom_averager_options). */
  /* Names the segment: 1 to 64 letters, digits, dots, dashes and underscores. */
  const char* name;
  /* Any number that tells this job from others; the same on all ranks. */
  uint64_t job;
  uint32_t rank;
  uint32_t ranks; /* At most 16. */
  /* Memory for the buckets of each rank, in multiples of 4,096: those allocated, and those in
     flight that are copied. */
  uint64_t arena_bytes;
  uint32_t in_flight;   /* How many buckets can be, 2 to 64. */
  uint32_t chunk_bytes; /* A multiple of 4,096; 131,072 suits most processors. */
  uint32_t policy;      /* HEADROOM_AVERAGER_FINISH or _FAIL. */
  uint32_t background;  /* 1: a thread of the averager does the work between start and wait. */
  uint32_t meet_ms;     /* How long open waits for the other ranks, or for a step. */
  uint32_t silent_ms;   /* A rank that shows no sign of life for so long is stopped. */
  uint32_t absent_ms;   /* A rank that lets others wait for so long hangs. */
  uint32_t reserved;
  /* Called with the whole segment before it is used and after: hipHostRegister and
     hipHostUnregister. pin returns 0 or an error, with which open fails. Both may be null. */
  int (*pin)(void* context, void* memory, uint64_t bytes);
  void (*unpin)(void* context, void* memory);
  void* context;
} headroom_averager_options;

#define HEADROOM_AVERAGER_OPTIONS_INIT                                             \
  {                                                                                \
    sizeof(headroom_averager_options), 0, 0, 0, 1, (uint64_t)256 << 20, 8, 131072, \
        HEADROOM_AVERAGER_FINISH, 0, 60000, 10000, 600000, 0, 0, 0, 0              \
  }

/* Finds or makes the job's segment, takes the rank's place and waits for the others. Returns null
   if it fails. A segment that a crash left behind is replaced. */
HEADROOM_AVERAGER_API headroom_averager* headroom_averager_open(
    const headroom_averager_options* options);

/* Leaves the job; the last to leave removes the segment. Memory from allocate is gone. Null is
   ignored. */
HEADROOM_AVERAGER_API void headroom_averager_close(headroom_averager* averager);

/* Whether this rank was here before and came back: then `joined` of the others' last step names it,
   and it needs the model's state, which they broadcast. */
HEADROOM_AVERAGER_API uint32_t headroom_averager_has_come_back(const headroom_averager* averager);

/* Memory in the segment, aligned to 4,096 bytes; null if the arena has no room. */
HEADROOM_AVERAGER_API void* headroom_averager_allocate(headroom_averager* averager, uint64_t bytes);
HEADROOM_AVERAGER_API headroom_averager_status headroom_averager_free(headroom_averager* averager,
                                                                      void* memory);

enum {
  HEADROOM_AVERAGER_AVERAGE = 0,
  HEADROOM_AVERAGER_SUM = 1,
  HEADROOM_AVERAGER_BROADCAST = 2 /* Every rank gets what `root` has. */
};
enum { HEADROOM_AVERAGER_FLOAT32 = 0, HEADROOM_AVERAGER_BFLOAT16 = 1 };
/* The bucket is averaged piece by piece, so that what is copied stays in the caches: a third less
   time for buckets of 16 MiB and more that are copied (docs/measurements.md). It may be larger than
   the arena, which only has to hold a piece: 2 chunks for each rank, 4 at least. The price: who is
   present is decided of each piece. If a rank is lost on the way, it has a part in the pieces
   before that and in none after; `present` of the result are those of all pieces, `lost` those of
   any. The flag is ignored for a broadcast and with HEADROOM_AVERAGER_FAIL. */
enum { HEADROOM_AVERAGER_IN_PIECES = 1 };

typedef struct headroom_averager_bucket {
  size_t size; /* sizeof(headroom_averager_bucket). */
  uint32_t kind;
  uint32_t type;
  void* data;
  uint64_t elements;
  uint32_t root;  /* For a broadcast, else 0. */
  uint32_t flags; /* 0, or HEADROOM_AVERAGER_IN_PIECES. The same on all ranks. */
} headroom_averager_bucket;

#define HEADROOM_AVERAGER_BUCKET_INIT \
  { sizeof(headroom_averager_bucket), 0, 0, 0, 0, 0, 0 }

/* Ranks as bits: rank r is 1 << r. All ranks get the same. */
typedef struct headroom_averager_result {
  size_t size;      /* sizeof(headroom_averager_result). */
  uint32_t present; /* Whose inputs made the result. */
  uint32_t lost;    /* Were expected, and died or left before their input was complete. */
  uint32_t joined;  /* Take part from the next bucket on; only of a step. */
  uint32_t reserved;
} headroom_averager_result;

#define HEADROOM_AVERAGER_RESULT_INIT \
  { sizeof(headroom_averager_result), 0, 0, 0, 0 }

/* Starts a bucket. Its data are the averager's until wait. `ticket` gets its number. */
HEADROOM_AVERAGER_API headroom_averager_status headroom_averager_start(
    headroom_averager* averager, const headroom_averager_bucket* bucket, uint64_t* ticket);

/* Returns when the data are the result. `result` may be null. */
HEADROOM_AVERAGER_API headroom_averager_status headroom_averager_wait(
    headroom_averager* averager, uint64_t ticket, headroom_averager_result* result);

/* Starts a bucket and waits for it. */
HEADROOM_AVERAGER_API headroom_averager_status
headroom_averager_run(headroom_averager* averager, const headroom_averager_bucket* bucket,
                      headroom_averager_result* result);

/* The border of a step, which every rank calls at the same place among its buckets: admits ranks
   that come back. */
HEADROOM_AVERAGER_API headroom_averager_status
headroom_averager_step(headroom_averager* averager, headroom_averager_result* result);

#ifdef __cplusplus
}
#endif

#endif
