/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface as a C program uses it, and misuses it. Compiled as C99 and as C++; run with a
   folder for files. Exits 0, or 1 after saying what was not as expected. */
#include <headroom/allocator.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static int failures = 0;

#define EXPECT(what)                                                            \
  do {                                                                          \
    if (!(what)) {                                                              \
      printf("%s:%d: expected %s; last error: %s\n", __FILE__, __LINE__, #what, \
             headroom_last_error());                                            \
      ++failures;                                                               \
    }                                                                           \
  } while (0)

static const headroom_tag no_tag = {HEADROOM_OTHER, 0};

/* Nobody destroys it; it stays known to somebody, so that a leak checker takes it for no leak. */
static headroom_allocator* volatile left_behind;

static headroom_allocator* host(uint64_t capacity) {
  headroom_allocator_options options = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  headroom_allocator* made;
  options.capacity_bytes = capacity;
  made = headroom_allocator_create(&options);
  EXPECT(made != NULL);
  return made;
}

static void blocks_can_be_used_and_are_counted(void) {
  headroom_allocator* a = host(64 * MIB);
  headroom_usage usage = HEADROOM_USAGE_INIT;
  headroom_stats stats = HEADROOM_STATS_INIT;
  headroom_block block = HEADROOM_BLOCK_INIT;
  headroom_tag tag = {HEADROOM_WEIGHTS, 0};
  char* p;
  tag.name = headroom_name(a, "lm_head");
  EXPECT(tag.name != 0);
  EXPECT(tag.name == headroom_name(a, "lm_head"));
  EXPECT(headroom_name(a, NULL) == 0);
  p = (char*)headroom_allocate(a, 5 * MIB + 1, NULL, tag);
  EXPECT(p != NULL);
  memset(p, 7, 5 * MIB + 1);
  EXPECT(headroom_find_block(a, p + 4 * MIB, &block) == HEADROOM_OK);
  EXPECT(block.base == p && block.bytes == 5 * MIB + 512);
  EXPECT(headroom_find_block(a, &block, &block) == HEADROOM_INVALID);
  EXPECT(headroom_retag(a, p, HEADROOM_GRADIENTS) == HEADROOM_OK);
  EXPECT(headroom_get_usage(a, &usage) == HEADROOM_OK);
  EXPECT(usage.live_bytes == 5 * MIB + 512);
  EXPECT(usage.live_by_component[HEADROOM_GRADIENTS] == usage.live_bytes);
  EXPECT(usage.live_by_component[HEADROOM_WEIGHTS] == 0);
  EXPECT(usage.capacity_bytes == 64 * MIB);
  EXPECT(headroom_free(a, p, NULL) == HEADROOM_OK);
  EXPECT(headroom_get_stats(a, &stats) == HEADROOM_OK);
  EXPECT(stats.growths == 1 && stats.misused == 0);
  headroom_allocator_destroy(a);
}

static void peaks_begin_anew(void) {
  headroom_allocator* a = host(64 * MIB);
  headroom_usage usage = HEADROOM_USAGE_INIT;
  headroom_tag weights = {HEADROOM_WEIGHTS, 0};
  char other_stream;
  void* small = headroom_allocate(a, 2 * MIB, NULL, weights);
  void* large = headroom_allocate(a, 24 * MIB, NULL, no_tag);
  EXPECT(headroom_free(a, large, NULL) == HEADROOM_OK && headroom_trim(a, NULL) == HEADROOM_OK);
  EXPECT(headroom_get_usage(a, &usage) == HEADROOM_OK);
  EXPECT(usage.live_peak_bytes == 26 * MIB && usage.reserved_peak_bytes == 26 * MIB);
  EXPECT(headroom_reset_peaks(a) == HEADROOM_OK);
  EXPECT(headroom_get_usage(a, &usage) == HEADROOM_OK);
  EXPECT(usage.live_peak_bytes == 2 * MIB && usage.reserved_peak_bytes == 2 * MIB);
  EXPECT(usage.live_at_peak[HEADROOM_WEIGHTS] == 2 * MIB &&
         usage.live_at_peak[HEADROOM_OTHER] == 0);
  /* On two streams, whose peaks are not their sum's. */
  large = headroom_allocate(a, 8 * MIB, &other_stream, no_tag);
  EXPECT(headroom_get_usage(a, &usage) == HEADROOM_OK && usage.live_peak_bytes == 10 * MIB);
  EXPECT(headroom_free(a, large, &other_stream) == HEADROOM_OK);
  EXPECT(headroom_reset_peaks(a) == HEADROOM_OK);
  EXPECT(headroom_get_usage(a, &usage) == HEADROOM_OK && usage.live_peak_bytes == 2 * MIB);
  large = headroom_allocate(a, 512, &other_stream, no_tag);
  EXPECT(headroom_get_usage(a, &usage) == HEADROOM_OK && usage.live_peak_bytes == 2 * MIB + 512);
  EXPECT(headroom_free(a, large, &other_stream) == HEADROOM_OK);
  EXPECT(headroom_reset_peaks(a) == HEADROOM_OK);
  EXPECT(headroom_get_usage(a, &usage) == HEADROOM_OK && usage.live_peak_bytes == 2 * MIB);
  EXPECT(headroom_free(a, small, NULL) == HEADROOM_OK);
  EXPECT(headroom_reset_peaks(NULL) == HEADROOM_INVALID);
  headroom_allocator_destroy(a);
}

static void memory_goes_back_and_the_capacity_changes(void) {
  headroom_allocator* a = host(64 * MIB);
  void* p = headroom_allocate(a, 32 * MIB, NULL, no_tag);
  uint64_t returned = 1;
  EXPECT(headroom_trim(a, &returned) == HEADROOM_OK && returned == 0);
  EXPECT(headroom_free(a, p, NULL) == HEADROOM_OK);
  EXPECT(headroom_trim(a, &returned) == HEADROOM_OK && returned == 32 * MIB);
  EXPECT(headroom_set_capacity(a, 16 * MIB) == HEADROOM_OK);
  EXPECT(headroom_allocate(a, 32 * MIB, NULL, no_tag) == NULL);
  EXPECT(headroom_last_result() == HEADROOM_OUT_OF_MEMORY);
  EXPECT(strstr(headroom_last_error(), "16.0 MiB") != NULL);
  headroom_allocator_destroy(a);
}

static void streams_and_pools_keep_their_memory_apart(void) {
  headroom_allocator_options options = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  headroom_allocator* a;
  int one = 0, two = 0;
  void *p, *q, *captured;
  options.backend =
      HEADROOM_BACKEND_SIMULATED; /* A stream there is done only when somebody waits. */
  options.capacity_bytes = 256 * MIB;
  a = headroom_allocator_create(&options);
  p = headroom_allocate(a, 8 * MIB, &one, no_tag);
  EXPECT(headroom_record_stream(a, p, &two) == HEADROOM_OK);
  EXPECT(headroom_free(a, p, &one) == HEADROOM_OK);
  q = headroom_allocate(a, 8 * MIB, &one, no_tag);
  EXPECT(q != NULL && q != p);
  EXPECT(headroom_synchronize(a, &two) == HEADROOM_OK);
  EXPECT(headroom_free_after_all(a, q) == HEADROOM_OK);
  EXPECT(headroom_forget_stream(a, &two) == HEADROOM_OK);
  EXPECT(headroom_begin_pool(a, 1, &one) == HEADROOM_OK);
  captured = headroom_allocate(a, 8 * MIB, &one, no_tag);
  EXPECT(captured != NULL && captured != p && captured != q);
  EXPECT(headroom_end_pool(a, 2) == HEADROOM_INVALID);
  EXPECT(strstr(headroom_last_error(), "pool 2") != NULL);
  EXPECT(headroom_end_pool(a, 1) == HEADROOM_OK);
  EXPECT(headroom_free(a, captured, &one) == HEADROOM_OK);
  EXPECT(headroom_release_pool(a, 1) == HEADROOM_OK);
  EXPECT(headroom_release_pool(a, 1) == HEADROOM_INVALID);
  EXPECT(headroom_end_pool(a, 1) == HEADROOM_INVALID);
  headroom_allocator_destroy(a);
}

static void reports_say_what_holds_the_memory(const char* folder) {
  headroom_allocator_options options = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  headroom_request request = {48 * MIB, NULL, {HEADROOM_LOGITS, 0}};
  headroom_tag tag = {HEADROOM_WEIGHTS, 0};
  headroom_allocator* a;
  char path[512], recording[512], text[4096];
  FILE* file;
  size_t length;
  snprintf(path, sizeof path, "%s/snapshot.pickle", folder);
  snprintf(recording, sizeof recording, "%s/allocator.flight", folder);
  options.capacity_bytes = 64 * MIB;
  options.flight_recorder_path = recording;
  options.flight_recorder_events = 256;
  a = headroom_allocator_create(&options);
  EXPECT(a != NULL);
  tag.name = headroom_name(a, "embedding");
  EXPECT(headroom_allocate(a, 32 * MIB, NULL, tag) != NULL);
  EXPECT(headroom_allocate(a, request.bytes, NULL, request.tag) == NULL);
  length = headroom_explain(a, &request, HEADROOM_FORMAT_TEXT, NULL, 0);
  EXPECT(length > 100 && length < sizeof text);
  EXPECT(headroom_explain(a, &request, HEADROOM_FORMAT_TEXT, text, sizeof text) == length);
  EXPECT(strlen(text) == length);
  EXPECT(strstr(text, "48.0 MiB") != NULL && strstr(text, "embedding") != NULL);
  EXPECT(headroom_explain(a, &request, HEADROOM_FORMAT_TEXT, text, 9) == length);
  EXPECT(strlen(text) == 8);
  EXPECT(headroom_explain(a, &request, HEADROOM_FORMAT_JSON, text, sizeof text) > 0);
  EXPECT(text[0] == '{');
  EXPECT(headroom_explain(a, &request, 9, text, sizeof text) == 0);
  EXPECT(headroom_allocator_describe(a, text, sizeof text) > 0);
  EXPECT(strstr(text, "host memory") != NULL);
  EXPECT(headroom_write_snapshot(a, path) == HEADROOM_OK);
  file = fopen(path, "rb");
  EXPECT(file != NULL);
  if (file != NULL) {
    length = fread(text, 1, sizeof text, file);
    fclose(file);
    EXPECT(length > 100 && text[0] == (char)0x80); /* The opcode that begins a pickle. */
  }
  EXPECT(headroom_write_snapshot(a, "/nowhere/snapshot.pickle") == HEADROOM_IO);
  EXPECT(headroom_write_snapshot(a, NULL) == HEADROOM_INVALID);
  headroom_allocator_destroy(a);
}

static void processes_share_a_budget(const char* folder) {
  headroom_allocator_options options = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  headroom_allocator *a, *b;
  uint64_t room = UINT64_MAX;
  char ledger[512];
  snprintf(ledger, sizeof ledger, "%s/ledger", folder);
  options.backend = HEADROOM_BACKEND_SIMULATED;
  options.capacity_bytes = 256 * MIB;
  options.budget_path = ledger;
  options.budget_share_bytes = 128 * MIB;
  a = headroom_allocator_create(&options);
  b = headroom_allocator_create(&options);
  EXPECT(a != NULL && b != NULL);
  EXPECT(headroom_allocate(a, 120 * MIB, NULL, no_tag) != NULL);
  EXPECT(headroom_get_room(a, &room) == HEADROOM_OK && room <= 8 * MIB); /* Of its share. */
  EXPECT(headroom_get_room(a, NULL) == HEADROOM_INVALID);
  EXPECT(headroom_get_machine_room(a, &room) == HEADROOM_OK && room > 0);
  EXPECT(headroom_get_machine_room(a, NULL) == HEADROOM_INVALID);
  EXPECT(headroom_allocate(a, 64 * MIB, NULL, no_tag) == NULL);
  EXPECT(headroom_allocate(b, 128 * MIB, NULL, no_tag) != NULL);
  EXPECT(headroom_allocate(a, 64 * MIB, NULL, no_tag) == NULL);
  EXPECT(headroom_last_result() == HEADROOM_OUT_OF_MEMORY);
  EXPECT(strstr(headroom_last_error(), "share") != NULL); /* Not the capacity. */
  headroom_allocator_destroy(b);
  headroom_allocator_destroy(a);
}

/* What came after the first version's struct is not read of an older caller's. */
static void an_older_caller_is_served(void) {
  headroom_allocator_options options = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  headroom_allocator* a;
  options.capacity_bytes = 64 * MIB;
  options.guard = "much";
  EXPECT(headroom_allocator_create(&options) == NULL);
  EXPECT(strstr(headroom_last_error(), "\"much\"") != NULL);
  options.size = 88;
  a = headroom_allocator_create(&options);
  EXPECT(a != NULL);
  headroom_allocator_destroy(a);
}

static void misuse_is_refused(void) {
  headroom_allocator_options options = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  headroom_allocator* a = host(64 * MIB);
  headroom_usage usage = HEADROOM_USAGE_INIT;
  headroom_stats stats = HEADROOM_STATS_INIT;
  headroom_tag wrong = {HEADROOM_COMPONENTS, 0};
  int mine = 0;
  void* p = headroom_allocate(a, 1000, NULL, no_tag);
  EXPECT(headroom_free(a, p, NULL) == HEADROOM_OK);
  EXPECT(headroom_free(a, p, NULL) == HEADROOM_INVALID);
  EXPECT(strstr(headroom_last_error(), "live block") != NULL);
  EXPECT(headroom_free(a, &mine, NULL) == HEADROOM_INVALID);
  EXPECT(headroom_free_after_all(a, &mine) == HEADROOM_INVALID);
  EXPECT(headroom_free(a, NULL, NULL) == HEADROOM_OK);
  EXPECT(headroom_retag(a, p, HEADROOM_LOGITS) == HEADROOM_INVALID);
  EXPECT(headroom_record_stream(a, p, &mine) == HEADROOM_INVALID);
  EXPECT(headroom_allocate(a, 1, NULL, wrong) == NULL);
  EXPECT(headroom_last_result() == HEADROOM_INVALID);
  EXPECT(headroom_allocate(a, UINT64_MAX, NULL, no_tag) == NULL);
  EXPECT(headroom_allocate(a, 64 * MIB + 1, NULL, no_tag) == NULL);
  EXPECT(strstr(headroom_last_error(), "67108865 bytes") != NULL);
  EXPECT(headroom_get_stats(a, &stats) == HEADROOM_OK && stats.misused == 3);
  usage.size = 4;
  EXPECT(headroom_get_usage(a, &usage) == HEADROOM_INVALID);
  EXPECT(headroom_get_usage(a, NULL) == HEADROOM_INVALID);
  headroom_allocator_destroy(a);

  EXPECT(headroom_allocate(NULL, 1, NULL, no_tag) == NULL);
  EXPECT(headroom_free(NULL, &mine, NULL) == HEADROOM_INVALID);
  EXPECT(headroom_name(NULL, "x") == 0);
  EXPECT(headroom_trim(NULL, NULL) == HEADROOM_INVALID);
  EXPECT(headroom_explain(NULL, NULL, 0, NULL, 0) == 0);
  headroom_allocator_destroy(NULL);

  EXPECT(headroom_allocator_create(NULL) == NULL);
  EXPECT(headroom_allocator_create(&options) == NULL); /* No capacity. */
  options.capacity_bytes = 64 * MIB;
  options.size = 8;
  EXPECT(headroom_allocator_create(&options) == NULL);
  EXPECT(strstr(headroom_last_error(), "_INIT") != NULL);
  options.size = sizeof options;
  options.backend = 17;
  EXPECT(headroom_allocator_create(&options) == NULL);
  options.backend = HEADROOM_BACKEND_HOST;
  options.flight_recorder_path = "/nowhere/at/all";
  EXPECT(headroom_allocator_create(&options) == NULL);
  EXPECT(headroom_last_result() == HEADROOM_IO);
}

/* As destructors of static objects do, which run after whoever owned the allocator ended. */
static void calls_after_the_end_are_refused(void) {
  headroom_allocator* a = host(64 * MIB);
  headroom_usage usage = HEADROOM_USAGE_INIT;
  void* p = headroom_allocate(a, 1000, NULL, no_tag);
  headroom_allocator_destroy(a);
  EXPECT(headroom_free(a, p, NULL) == HEADROOM_INVALID);
  EXPECT(strstr(headroom_last_error(), "destroyed") != NULL);
  EXPECT(headroom_allocate(a, 1000, NULL, no_tag) == NULL);
  EXPECT(headroom_get_usage(a, &usage) == HEADROOM_INVALID);
  headroom_allocator_destroy(a);
}

/* A caller that was compiled against a later header: more members, unset or set. */
static void newer_callers_are_served_where_they_ask_nothing_new(void) {
  struct {
    headroom_allocator_options known;
    uint64_t unknown;
  } options = {HEADROOM_ALLOCATOR_OPTIONS_INIT, 0};
  headroom_allocator* a;
  options.known.size = sizeof options;
  options.known.capacity_bytes = 64 * MIB;
  a = headroom_allocator_create(&options.known);
  EXPECT(a != NULL);
  headroom_allocator_destroy(a);
  options.unknown = 1;
  EXPECT(headroom_allocator_create(&options.known) == NULL);
  EXPECT(headroom_last_result() == HEADROOM_UNSUPPORTED);
}

static void a_forked_child_is_refused(void) {
  headroom_allocator* a = host(64 * MIB);
  void* p = headroom_allocate(a, 3 * MIB, NULL, no_tag);
  pid_t child;
  int status = -1;
  memset(p, 1, 3 * MIB);
  fflush(stdout);
  child = fork();
  if (child == 0) {
    EXPECT(headroom_allocate(a, 1, NULL, no_tag) == NULL);
    EXPECT(headroom_last_result() == HEADROOM_UNSUPPORTED);
    EXPECT(headroom_free(a, p, NULL) == HEADROOM_UNSUPPORTED);
    EXPECT(headroom_reset_peaks(a) == HEADROOM_UNSUPPORTED);
    headroom_allocator_destroy(a);
    exit(failures == 0 ? 0 : 1); /* With live blocks, through the handlers of exit(). */
  }
  EXPECT(waitpid(child, &status, 0) == child);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT(((char*)p)[3 * MIB - 1] == 1);
  EXPECT(headroom_free(a, p, NULL) == HEADROOM_OK);
  headroom_allocator_destroy(a);
}

typedef struct worker {
  headroom_allocator* allocator;
  char stream; /* Its address is the handle. */
  int failures;
} worker;

static void* work(void* argument) {
  worker* w = (worker*)argument;
  int round, i;
  for (round = 0; round < 200; ++round) {
    char* blocks[16];
    for (i = 0; i < 16; ++i) {
      const uint64_t bytes = (uint64_t)(1 + (round * 7 + i * 13) % 40) * 4096;
      blocks[i] = (char*)headroom_allocate(w->allocator, bytes, &w->stream, no_tag);
      if (blocks[i] == NULL) return NULL;
      blocks[i][0] = w->stream;
      blocks[i][bytes - 1] = w->stream;
    }
    for (i = 0; i < 16; ++i) {
      if (blocks[i][0] != w->stream) ++w->failures;
      if (headroom_free(w->allocator, blocks[i], &w->stream) != HEADROOM_OK) ++w->failures;
    }
    if (headroom_free(w->allocator, w, NULL) != HEADROOM_INVALID) ++w->failures;
    if (strstr(headroom_last_error(), "live block") == NULL) ++w->failures;
  }
  return w;
}

/* Nor does who looks on, while all of it is recorded. */
static void threads_do_not_disturb_each_other(const char* folder) {
  headroom_allocator_options options = HEADROOM_ALLOCATOR_OPTIONS_INIT;
  headroom_request request = {512 * MIB, NULL, {HEADROOM_LOGITS, 0}};
  headroom_allocator* a;
  headroom_usage usage = HEADROOM_USAGE_INIT;
  char recording[512], snapshot[512];
  worker workers[4];
  pthread_t threads[4];
  void* done;
  int i;
  snprintf(recording, sizeof recording, "%s/threads.flight", folder);
  snprintf(snapshot, sizeof snapshot, "%s/threads.pickle", folder);
  options.capacity_bytes = 256 * MIB;
  options.flight_recorder_path = recording;
  options.flight_recorder_events = 512;
  a = headroom_allocator_create(&options);
  EXPECT(a != NULL);
  for (i = 0; i < 4; ++i) {
    workers[i].allocator = a;
    workers[i].stream = (char)(i + 1);
    workers[i].failures = 0;
    EXPECT(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  }
  for (i = 0; i < 20; ++i) {
    EXPECT(headroom_explain(a, &request, HEADROOM_FORMAT_TEXT, NULL, 0) > 100);
    EXPECT(headroom_write_snapshot(a, snapshot) == HEADROOM_OK);
    EXPECT(headroom_trim(a, NULL) == HEADROOM_OK);
    EXPECT(headroom_reset_peaks(a) == HEADROOM_OK);
    EXPECT(headroom_get_usage(a, &usage) == HEADROOM_OK &&
           usage.live_peak_bytes >= usage.live_bytes);
  }
  for (i = 0; i < 4; ++i) {
    EXPECT(pthread_join(threads[i], &done) == 0 && done == &workers[i]);
    EXPECT(workers[i].failures == 0);
  }
  EXPECT(headroom_get_usage(a, &usage) == HEADROOM_OK && usage.live_bytes == 0);
  headroom_allocator_destroy(a);
}

int main(int argc, char** argv) {
  const char* folder = argc > 1 ? argv[1] : ".";
  EXPECT(headroom_allocator_abi() == HEADROOM_ALLOCATOR_ABI);
  EXPECT(headroom_last_result() == HEADROOM_OK && headroom_last_error()[0] == '\0');
  blocks_can_be_used_and_are_counted();
  peaks_begin_anew();
  memory_goes_back_and_the_capacity_changes();
  streams_and_pools_keep_their_memory_apart();
  reports_say_what_holds_the_memory(folder);
  processes_share_a_budget(folder);
  threads_do_not_disturb_each_other(folder);
  an_older_caller_is_served();
  misuse_is_refused();
  calls_after_the_end_are_refused();
  newer_callers_are_served_where_they_ask_nothing_new();
  a_forked_child_is_refused();
  /* The process ends with a live block, and with an allocator that nobody destroyed. */
  left_behind = host(64 * MIB);
  EXPECT(headroom_allocate(left_behind, 3 * MIB, NULL, no_tag) != NULL);
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
