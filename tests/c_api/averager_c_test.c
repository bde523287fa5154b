/* SPDX-License-Identifier: Apache-2.0 */
/* The averager from C: two ranks, the second of which is a forked child; one bucket in the segment and
   one copied; a step; and calls that must be refused. Ends with the number of the line that failed. */
#include <headroom/averager.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(holds)                                                                           \
  do {                                                                                         \
    if (!(holds)) {                                                                            \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #holds, headroom_averager_last_error());  \
      return 1;                                                                                \
    }                                                                                          \
  } while (0)

static int pin(void* context, void* memory, uint64_t bytes) {
  *(uint64_t*)context += bytes;
  return memory == NULL;
}

static void unpin(void* context, void* memory) {
  if (memory != NULL) *(uint64_t*)context = 0;
}

static int run_rank(const char* name, uint32_t rank) {
  uint64_t pinned = 0;
  uint64_t ticket = 0;
  float copied[1000];
  headroom_averager_options options = HEADROOM_AVERAGER_OPTIONS_INIT;
  headroom_averager_bucket bucket = HEADROOM_AVERAGER_BUCKET_INIT;
  headroom_averager_result result = HEADROOM_AVERAGER_RESULT_INIT;
  options.name = name;
  options.rank = rank;
  options.ranks = 2;
  options.arena_bytes = 1 << 20;
  options.background = rank; /* Ranks may differ in this. */
  options.pin = pin;
  options.unpin = unpin;
  options.context = &pinned;
  headroom_averager* averager = headroom_averager_open(&options);
  CHECK(averager != NULL);
  CHECK(pinned > 2 << 20);
  CHECK(headroom_averager_has_come_back(averager) == 0);

  float* memory = (float*)headroom_averager_allocate(averager, 1000 * sizeof(float));
  CHECK(memory != NULL);
  for (int i = 0; i < 1000; ++i) memory[i] = copied[i] = (float)(i + 2 * (int)rank);
  bucket.data = memory;
  bucket.elements = 1000;
  CHECK(headroom_averager_start(averager, &bucket, &ticket) == HEADROOM_AVERAGER_OK);
  bucket.data = copied;
  bucket.kind = HEADROOM_AVERAGER_SUM;
  CHECK(headroom_averager_run(averager, &bucket, &result) == HEADROOM_AVERAGER_OK);
  CHECK(result.present == 3 && result.lost == 0 && result.joined == 0);
  CHECK(headroom_averager_wait(averager, ticket, NULL) == HEADROOM_AVERAGER_OK);
  for (int i = 0; i < 1000; ++i) CHECK(memory[i] == (float)(i + 1) && copied[i] == (float)(2 * i + 2));
  CHECK(headroom_averager_step(averager, &result) == HEADROOM_AVERAGER_OK);
  CHECK(headroom_averager_wait(averager, ticket, NULL) == HEADROOM_AVERAGER_INVALID);
  CHECK(headroom_averager_free(averager, memory) == HEADROOM_AVERAGER_OK);
  CHECK(headroom_averager_free(averager, memory) == HEADROOM_AVERAGER_INVALID);
  bucket.size = 1;
  CHECK(headroom_averager_start(averager, &bucket, &ticket) == HEADROOM_AVERAGER_INVALID);
  CHECK(strstr(headroom_averager_last_error(), "HEADROOM_AVERAGER_BUCKET_INIT") != NULL);

  const pid_t child = fork(); /* It has no part in the job. */
  if (child == 0) {
    bucket.size = sizeof bucket;
    const headroom_averager_status status = headroom_averager_start(averager, &bucket, &ticket);
    headroom_averager_close(averager);
    _exit(status == HEADROOM_AVERAGER_UNSUPPORTED ? 0 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(headroom_averager_step(averager, NULL) == HEADROOM_AVERAGER_OK);
  headroom_averager_close(averager);
  CHECK(pinned == 0);
  return 0;
}

int main(void) {
  char name[32];
  int status = 1;
  CHECK(headroom_averager_abi() == HEADROOM_AVERAGER_ABI);
  CHECK(headroom_averager_open(NULL) == NULL);
  CHECK(headroom_averager_step(NULL, NULL) == HEADROOM_AVERAGER_INVALID);
  headroom_averager_close(NULL);
  snprintf(name, sizeof name, "c-test.%d", (int)getpid());
  const pid_t child = fork();
  if (child == 0) _exit(run_rank(name, 1));
  CHECK(run_rank(name, 0) == 0);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  return 0;
}
