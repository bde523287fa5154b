// SPDX-License-Identifier: Apache-2.0
// The slots as PyTorch calls them, on a GPU that does nothing before somebody waits: memory that is
// given away too early gets overwritten by work that was queued before, which the bytes show. Each
// test has a GPU of its own, because a library of slots has one state for the whole process.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "faces/torch/headroom_torch.h"

namespace headroom::torch_face {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t mib = std::size_t{1} << 20U;
constexpr unsigned non_blocking = 1;

// The functions of a library that are found by name.
class Library {
 public:
  explicit Library(const char* path) : handle_(::dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {}
  explicit operator bool() const { return handle_ != nullptr; }
  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(::dlsym(handle_, name));
    ASSERT_NE(function, nullptr) << name;
  }

 private:
  void* handle_;
};

struct Cuda {
  int (*set_device)(int) = nullptr;
  int (*create_stream)(void**, unsigned) = nullptr;
  int (*wait)(void*) = nullptr;
  int (*wait_for_device)() = nullptr;
  int (*create_event)(void**) = nullptr;
  int (*record)(void*, void*) = nullptr;
  int (*let_wait)(void*, void*, unsigned) = nullptr;
  int (*fill)(void*, int, std::size_t, void*) = nullptr;
  int (*copy)(void*, const void*, std::size_t, int, void*) = nullptr;
  int (*host_memory)(void**, std::size_t) = nullptr;
  int (*memory_info)(std::size_t*, std::size_t*) = nullptr;
  int (*pci_address)(char*, int, int) = nullptr;
  int (*begin_capture)(void*, int) = nullptr;
  int (*end_capture)(void*, void**) = nullptr;
  int (*is_capturing)(void*, int*) = nullptr;
  int (*launch_graph)(void*, void*) = nullptr;
  std::uint64_t (*count)(int, const char*) = nullptr;
  void (*refuse)(int, std::uint64_t) = nullptr;
};

struct Slots {
  decltype(&headroom_torch_malloc) allocate = nullptr;
  decltype(&headroom_torch_free) release = nullptr;
  decltype(&headroom_torch_init) init = nullptr;
  decltype(&headroom_torch_reset) reset = nullptr;
  decltype(&headroom_torch_memory_fraction) fraction = nullptr;
  decltype(&headroom_torch_base_alloc) base = nullptr;
  decltype(&headroom_torch_record_stream) record_stream = nullptr;
  decltype(&headroom_torch_begin_allocate_to_pool) begin = nullptr;
  decltype(&headroom_torch_end_allocate_to_pool) end = nullptr;
  decltype(&headroom_torch_release_pool) release_pool = nullptr;
  decltype(&headroom_torch_get_counts) counts = nullptr;
  decltype(&headroom_torch_check) check = nullptr;
};

class SlotsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Library runtime("libcudart.so.13");
    if (!runtime) GTEST_SKIP() << "LD_LIBRARY_PATH does not name the stand-ins";
    find_cuda(runtime, Library("libcuda.so.1"));
    find_slots(Library(HEADROOM_TORCH_LIBRARY));
    static int last_device = -1;
    device_ = ++last_device;
    ASSERT_EQ(cuda_.set_device(device_), 0);
    ASSERT_EQ(cuda_.create_stream(&a_, non_blocking), 0);
    ASSERT_EQ(cuda_.create_stream(&b_, non_blocking), 0);
  }

  void find_cuda(const Library& runtime, const Library& driver) {
    runtime.find(cuda_.set_device, "cudaSetDevice");
    runtime.find(cuda_.create_stream, "cudaStreamCreateWithFlags");
    runtime.find(cuda_.wait, "cudaStreamSynchronize");
    runtime.find(cuda_.wait_for_device, "cudaDeviceSynchronize");
    runtime.find(cuda_.create_event, "cudaEventCreate");
    runtime.find(cuda_.record, "cudaEventRecord");
    runtime.find(cuda_.let_wait, "cudaStreamWaitEvent");
    runtime.find(cuda_.fill, "cudaMemsetAsync");
    runtime.find(cuda_.copy, "cudaMemcpyAsync");
    runtime.find(cuda_.host_memory, "cudaMallocHost");
    runtime.find(cuda_.memory_info, "cudaMemGetInfo");
    runtime.find(cuda_.pci_address, "cudaDeviceGetPCIBusId");
    runtime.find(cuda_.begin_capture, "cudaStreamBeginCapture");
    runtime.find(cuda_.end_capture, "cudaStreamEndCapture");
    runtime.find(cuda_.is_capturing, "cudaStreamIsCapturing");
    runtime.find(cuda_.launch_graph, "cudaGraphLaunch");
    driver.find(cuda_.count, "fake_gpu_count");
    driver.find(cuda_.refuse, "fake_gpu_refuse");
  }
  void find_slots(const Library& library) {
    library.find(slots_.allocate, "headroom_torch_malloc");
    library.find(slots_.release, "headroom_torch_free");
    library.find(slots_.init, "headroom_torch_init");
    library.find(slots_.reset, "headroom_torch_reset");
    library.find(slots_.fraction, "headroom_torch_memory_fraction");
    library.find(slots_.base, "headroom_torch_base_alloc");
    library.find(slots_.record_stream, "headroom_torch_record_stream");
    library.find(slots_.begin, "headroom_torch_begin_allocate_to_pool");
    library.find(slots_.end, "headroom_torch_end_allocate_to_pool");
    library.find(slots_.release_pool, "headroom_torch_release_pool");
    library.find(slots_.counts, "headroom_torch_get_counts");
    library.find(slots_.check, "headroom_torch_check");
  }

  void* take(std::size_t bytes, void* stream) { return slots_.allocate(bytes, device_, stream); }
  void give(void* block, std::size_t bytes, void* stream) {
    slots_.release(block, bytes, device_, stream);
  }
  std::uint64_t count(const char* what) const { return cuda_.count(device_, what); }
  HeadroomTorchCounts counts() const {
    HeadroomTorchCounts counts;
    EXPECT_EQ(slots_.counts(device_, &counts), HEADROOM_OK);
    return counts;
  }
  std::size_t free_bytes() const {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(cuda_.memory_info(&free, &total), 0);
    return free;
  }
  // Pinned memory, to which copies are queued.
  char* pinned(std::size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(cuda_.host_memory(&memory, bytes), 0);
    std::memset(memory, 0, bytes);
    return static_cast<char*>(memory);
  }
  // Lets `later` wait for what `earlier` has.
  void order(void* earlier, void* later) {
    void* event = nullptr;
    ASSERT_EQ(cuda_.create_event(&event), 0);
    ASSERT_EQ(cuda_.record(event, earlier), 0);
    ASSERT_EQ(cuda_.let_wait(later, event, 0), 0);
  }
  // Fills a block on one stream, lets another read it, frees it, and fills the next block of that
  // size. Returns what the reader saw.
  char seen_by_reader(bool says_so);

  Cuda cuda_;
  Slots slots_;
  int device_ = 0;
  void* a_ = nullptr;
  void* b_ = nullptr;
};

char SlotsTest::seen_by_reader(bool says_so) {
  char* const seen = pinned(1);
  void* const first = take(mib, a_);
  cuda_.fill(first, '1', mib, a_);
  order(a_, b_);
  cuda_.copy(seen, first, 1, 0, b_);
  if (says_so) slots_.record_stream(first, b_);
  give(first, mib, a_);
  void* const second = take(mib, a_);
  cuda_.fill(second, '2', mib, a_);
  cuda_.wait(a_);
  cuda_.wait(b_);
  return *seen;
}

TEST_F(SlotsTest, a_block_that_another_stream_still_reads_is_not_given_away) {
  EXPECT_EQ(seen_by_reader(true), '1');
}

TEST_F(SlotsTest, a_deliberate_mistake_shows_in_the_bytes) {
  EXPECT_EQ(seen_by_reader(false), '2') << "nobody said that the other stream reads the block";
}

// Programs of many blocks on three streams; each block's bytes are checked where it was last used.
TEST_F(SlotsTest, no_block_is_reused_before_its_queued_work_is_done) {
  struct Block {
    char* address;
    std::size_t bytes;
    char value;
    void* stream;
  };
  struct Reading {
    char* seen;
    char expected;
  };
  const std::array<void*, 3> streams = {nullptr, a_, b_};
  std::mt19937 random(7);
  std::vector<Block> live;
  std::vector<Reading> readings;
  char* const seen = pinned(40'000);
  for (int i = 0; i < 20'000; ++i) {
    if (live.size() < 20 || (random() % 2 == 0 && live.size() < 60)) {
      void* const stream = streams.at(random() % 3);
      const std::size_t bytes = 512U << (random() % 10);
      auto* const block = static_cast<char*>(take(bytes, stream));
      const char value = static_cast<char>('a' + i % 26);
      ASSERT_EQ(cuda_.fill(block, value, bytes, stream), 0);
      live.push_back({block, bytes, value, stream});
      continue;
    }
    std::swap(live.at(random() % live.size()), live.back());
    const Block block = live.back();
    live.pop_back();
    void* const reader = streams.at(random() % 3);
    if (reader != block.stream) {
      order(block.stream, reader);
      slots_.record_stream(block.address, reader);
    }
    readings.push_back({seen + readings.size(), block.value});
    ASSERT_EQ(cuda_.copy(readings.back().seen, block.address + block.bytes - 1, 1, 0, reader), 0);
    give(block.address, block.bytes, block.stream);
    // One stream runs ahead of the others.
    if (random() % 16 == 0) {
      ASSERT_EQ(cuda_.wait(streams.at(random() % 3)), 0);
    }
  }
  ASSERT_EQ(cuda_.wait_for_device(), 0);
  std::size_t wrong = 0;
  for (const Reading& reading : readings) wrong += *reading.seen != reading.expected ? 1 : 0;
  EXPECT_GT(readings.size(), 9'000U);
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(count("is_lost"), 0U);
}

TEST_F(SlotsTest, an_out_of_memory_says_who_holds_what_and_leaves_the_rest_alone) {
  std::vector<void*> blocks;
  try {
    for (;;) blocks.push_back(take(8 * mib, a_));
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("CUDA out of memory. Tried to allocate 8.00 MiB"));
    EXPECT_THAT(error.what(), HasSubstr("8 blocks"));
  }
  EXPECT_EQ(blocks.size(), 8U);
  EXPECT_EQ(counts().out_of_memory, 1U);
  for (void* block : blocks) give(block, 8 * mib, a_);
  EXPECT_NE(take(60 * mib, a_), nullptr) << "which takes eight blocks in one piece";
}

TEST_F(SlotsTest, a_refusal_of_the_driver_is_an_out_of_memory_and_passes) {
  static_cast<void>(take(mib, a_));
  cuda_.refuse(device_, 1);
  if (std::getenv("WITH_FILES") == nullptr) {
    EXPECT_THROW(take(48 * mib, a_), std::runtime_error);
  } else {  // Pages are created again, one by one.
    give(take(48 * mib, a_), 48 * mib, a_);
  }
  EXPECT_NE(take(30 * mib, a_), nullptr);
}

TEST_F(SlotsTest, reset_gives_idle_memory_back_to_the_device) {
  const std::size_t before = free_bytes();
  give(take(40 * mib, a_), 40 * mib, a_);
  EXPECT_LE(free_bytes(), before - 40 * mib);
  slots_.reset();
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(SlotsTest, a_fraction_is_of_the_whole_gpu_and_counts_from_the_first_block) {
  slots_.fraction(0.25, device_);
  EXPECT_THROW(take(20 * mib, a_), std::runtime_error);
  EXPECT_NE(take(10 * mib, a_), nullptr);
  slots_.fraction(0.5, device_);
  EXPECT_NE(take(20 * mib, a_), nullptr);
}

TEST_F(SlotsTest, the_base_of_a_pointer_into_a_block_is_where_the_block_begins) {
  auto* const block = static_cast<char*>(take(mib, a_));
  std::size_t bytes = 0;
  EXPECT_EQ(slots_.base(block + 4096, &bytes), block);
  EXPECT_EQ(bytes, mib);
  char elsewhere = 0;
  EXPECT_EQ(slots_.base(&elsewhere, &bytes), &elsewhere);
}

TEST_F(SlotsTest, threads_with_streams_of_their_own_find_their_bytes) {
  const auto work = [this](unsigned seed) {
    void* stream = nullptr;
    EXPECT_EQ(cuda_.set_device(device_), 0);
    EXPECT_EQ(cuda_.create_stream(&stream, non_blocking), 0);
    std::mt19937 random(seed);
    for (int i = 0; i < 2000; ++i) {
      const std::size_t bytes = 512U << (random() % 10);
      auto* const block = static_cast<char*>(take(bytes, stream));
      EXPECT_EQ(cuda_.fill(block, static_cast<int>(seed), bytes, stream), 0);
      char seen = 0;
      EXPECT_EQ(cuda_.copy(&seen, block + bytes - 1, 1, 0, stream), 0);
      EXPECT_EQ(seen, static_cast<char>(seed));
      give(block, bytes, stream);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts().allocations, 8000U);
  EXPECT_EQ(counts().frees, 8000U);
}

TEST_F(SlotsTest, the_environment_names_the_files_and_the_way) {
  static_cast<void>(take(mib, a_));
  const char* folder = std::getenv("HEADROOM_ALLOCATOR_BUDGETS");
  if (folder == nullptr) {
    EXPECT_EQ(count("virtual_memory_calls"), 0U) << "nobody tested it";
    return;
  }
  EXPECT_GT(count("virtual_memory_calls"), 0U);
  std::array<char, 32> card{};
  ASSERT_EQ(cuda_.pci_address(card.data(), static_cast<int>(card.size()) - 1, device_), 0);
  const std::string budget = folder + ("/" + to_lower(card.data())) + ".budget";
  EXPECT_EQ(::access(budget.c_str(), R_OK), 0) << budget;
  const std::string recording = fmt::format("{}/{}-gpu{}.flight", folder, ::getpid(), device_);
  EXPECT_EQ(::access(recording.c_str(), R_OK), 0) << recording;
}

TEST_F(SlotsTest, a_graph_finds_its_memory_as_it_left_it) {
  const PoolKey pool = {0, static_cast<unsigned long long>(device_) + 1};
  const auto is_captured = [this](headroom_stream stream) {
    int status = 0;
    return cuda_.is_capturing(stream, &status) == 0 && status == 1;
  };
  static_cast<void>(take(mib, b_));
  slots_.begin(device_, pool, is_captured);
  ASSERT_EQ(cuda_.begin_capture(a_, 0), 0);
  void* const inside = take(4 * mib, a_);
  ASSERT_EQ(cuda_.fill(inside, 'g', 4 * mib, a_), 0);
  void* graph = nullptr;
  ASSERT_EQ(cuda_.end_capture(a_, &graph), 0);
  slots_.end(device_, pool);
  give(inside, 4 * mib, a_);
  for (int i = 0; i < 6; ++i) {
    auto* const block = static_cast<char*>(take(4 * mib, a_));
    EXPECT_TRUE(block + 4 * mib <= inside || block >= static_cast<char*>(inside) + 4 * mib);
  }
  ASSERT_EQ(cuda_.launch_graph(graph, a_), 0);
  ASSERT_EQ(cuda_.wait(a_), 0);
  slots_.release_pool(device_, pool);
}

TEST_F(SlotsTest, what_is_no_block_is_counted_and_not_freed) {
  void* const block = take(1000, a_);
  char elsewhere = 0;
  give(&elsewhere, 1, a_);
  give(nullptr, 0, a_);
  give(block, 1000, a_);
  give(block, 1000, a_);
  EXPECT_EQ(counts().allocations, 1U);
  EXPECT_EQ(counts().allocated_bytes, 1000U);
  EXPECT_EQ(counts().frees, 1U);
  EXPECT_EQ(counts().freed_bytes, 1000U);
  EXPECT_EQ(counts().foreign_frees, 2U);
}

TEST_F(SlotsTest, the_settings_can_be_checked_before_a_gpu_is_touched) {
  std::array<char, 200> text{};
  EXPECT_EQ(slots_.check(text.data(), text.size()), 1) << text.data();
  slots_.init(16);
  EXPECT_EQ(count("allocations"), 0U);
  EXPECT_EQ(slots_.counts(-1, nullptr), HEADROOM_INVALID);
  EXPECT_THROW(slots_.allocate(1, 1000, nullptr), std::runtime_error);
}

}  // namespace
}  // namespace headroom::torch_face
