// SPDX-License-Identifier: Apache-2.0
// What libheadroom_hip.so does with the runtime's own table, on the stand-in that has one: every
// allocation is headroom's once, whichever way a program came, and a profiler sees what it calls.
// And what programs are told of an APU's memory.
#include "faces/hip_test.h"

namespace {

// Functions of the profiler that CMake preloads beside headroom.
std::uint64_t profiled(const char* what) {
  const auto ask = reinterpret_cast<std::uint64_t (*)()>(::dlsym(RTLD_DEFAULT, what));
  EXPECT_NE(ask, nullptr) << "the profiler was not preloaded";
  return ask == nullptr ? 0 : ask();
}

// A function of HIP as one program may find it and another may not.
using Malloc = decltype(&::hipMalloc);
using Free = decltype(&::hipFree);
template <class Function>
std::vector<Function> every_way(const char* name) {
  void* const library = ::dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
  std::vector<Function> found = {
      reinterpret_cast<Function>(::dlsym(library, name)),
      reinterpret_cast<Function>(::dlvsym(library, name, "hip_4.2")),
      reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name)),
  };
  void* by_name = nullptr;
  EXPECT_EQ(HIP(hipGetProcAddress)(name, &by_name, 70000000, 0, nullptr), 0);
  found.push_back(reinterpret_cast<Function>(by_name));
  return found;
}

class HipTable : public Hip {};

TEST_F(HipTable, each_way_of_allocating_is_headrooms_once_and_each_way_of_freeing_fits_it) {
  for (const Malloc allocate : every_way<Malloc>("hipMalloc"))
    for (const Free release : every_way<Free>("hipFree")) {
      const auto before = counts();
      const auto pieces = HIP(fake_gpu_count)(0, "plain_bytes");
      void* block = nullptr;
      ASSERT_EQ(allocate(&block, small), 0);
      EXPECT_EQ(release(block), 0);
      const auto after = counts();
      EXPECT_EQ(after.allocations - before.allocations, 1U);
      EXPECT_EQ(after.frees - before.frees, 1U);
      EXPECT_EQ(after.passed_on, before.passed_on);
      EXPECT_LE(HIP(fake_gpu_count)(0, "plain_bytes") - pieces, 32 * mib);
    }
}

TEST_F(HipTable, what_is_not_headrooms_is_counted_once_and_freed_by_the_runtime) {
  for (const Malloc allocate : every_way<Malloc>("hipMalloc")) {
    const auto before = counts();
    void* block = &block;
    EXPECT_EQ(allocate(&block, 0), 0);
    EXPECT_EQ(counts().passed_on - before.passed_on, 1U);
  }
}

class HipProfiled : public Hip {};

TEST_F(HipProfiled, a_profiler_sees_each_call_of_the_program_however_it_came) {
  HIP(hipFree)(take());  // So the allocator has a piece.
  for (const Malloc allocate : every_way<Malloc>("hipMalloc")) {
    const auto before = counts();
    const auto seen = profiled("fake_profiler_allocations");
    const auto freed = profiled("fake_profiler_frees");
    void* block = nullptr;
    ASSERT_EQ(allocate(&block, small), 0);
    EXPECT_EQ(HIP(hipFree)(block), 0);
    EXPECT_EQ(profiled("fake_profiler_allocations") - seen, 1U);
    EXPECT_EQ(profiled("fake_profiler_frees") - freed, 1U);
    EXPECT_EQ(counts().allocations - before.allocations, 1U);
    EXPECT_EQ(counts().frees - before.frees, 1U);
  }
}

// The first of the two GPUs has 64 MiB by its driver and 32 by HEADROOM_ALLOCATOR_TOTAL, the second
// is as its driver says.
class HipOnApu : public Hip {
 protected:
  static std::size_t total_of(int device) {
    std::size_t bytes = 0;
    EXPECT_EQ(HIP(hipDeviceTotalMem)(&bytes, device), 0);
    return bytes;
  }
  template <class Function>
  static std::size_t total_in(Function* ask, std::size_t place, int device) {
    std::vector<char> properties(4096);
    EXPECT_EQ(ask(properties.data(), device), 0);
    std::size_t bytes = 0;
    std::memcpy(&bytes, properties.data() + place, sizeof bytes);
    return bytes;
  }
};

TEST_F(HipOnApu, every_figure_of_its_memory_is_that_of_the_ladder) {
  for (const int device : {0, 1}) {
    const std::size_t expected = device == 0 ? 32 * mib : 64 * mib;
    EXPECT_EQ(total_of(device), expected);
    EXPECT_EQ(total_in(HIP(hipGetDevicePropertiesR0600), 288, device), expected);
    EXPECT_EQ(total_in(HIP(hipGetDevicePropertiesR0000), 256, device), expected);
#ifndef HIP_BY_TABLE  // It is not in the table: the runtime serves it.
    EXPECT_EQ(total_in(HIP(hipGetDeviceProperties), 256, device), expected);
#endif
    ASSERT_EQ(HIP(hipSetDevice)(device), 0);
    std::size_t free = 0;
    std::size_t total = 0;
    for (const bool is_open : {false, true}) {
      if (is_open) take(4 * mib);
      ASSERT_EQ(HIP(hipMemGetInfo)(&free, &total), 0);
      EXPECT_EQ(total, expected);
      EXPECT_LE(free, total - (is_open ? 4 * mib : 0));
      EXPECT_GE(free, total - 4 * mib);
    }
  }
}

TEST_F(HipOnApu, properties_by_name_are_those_of_the_version_that_was_asked_for) {
  void* found = nullptr;
  ASSERT_EQ(HIP(hipGetProcAddress)("hipGetDeviceProperties", &found, 600, 0, nullptr), 0);
  EXPECT_EQ(total_in(reinterpret_cast<decltype(&::hipGetDeviceProperties)>(found), 288, 0),
            32 * mib);
  EXPECT_NE(HIP(hipDeviceTotalMem)(nullptr, 99), 0);
}

}  // namespace
