// SPDX-License-Identifier: Apache-2.0
// How the tests of libheadroom_hip.so call HIP: a program is linked to the runtime (HIP_LINKED),
// opens it itself, or opens it and asks by dlvsym() (HIP_BY_TABLE), which nobody stands before:
// only the runtime's own table leads to headroom then.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "faces/hip/headroom_hip.h"

extern "C" {
int hipGetDevice(int* device);
int hipSetDevice(int device);
int hipDeviceSynchronize();
int hipStreamCreateWithFlags(void** out, unsigned flags);
int hipStreamSynchronize(void* stream);
int hipStreamBeginCapture(void* stream, int mode);
int hipStreamEndCapture(void* stream, void** graph);
int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipDeviceGetDefaultMemPool(void** out, int device);
int hipDeviceSetMemPool(int device, void* pool);
int hipMemPoolCreate(void** out, const void* properties);
int hipHostMalloc(void** out, std::size_t bytes, unsigned flags);
int hipMallocManaged(void** out, std::size_t bytes, unsigned flags);
std::uint64_t fake_gpu_count(int device, const char* what);
}

#ifdef HIP_LINKED
#define HIP(name) (&(name))
#else
inline void* find_in_library(const char* name) {
  static void* const library = ::dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL);
#ifdef HIP_BY_TABLE
  for (const char* node :
       {"hip_4.2", "hip_4.3", "hip_4.4", "hip_4.5", "hip_5.0", "hip_5.1", "hip_5.2", "hip_5.3",
        "hip_5.5", "hip_5.6", "hip_6.0", "hip_6.1", "FAKE_GPU"})
    if (void* found = ::dlvsym(library, name, node); found != nullptr) return found;
  return nullptr;
#else
  return ::dlsym(library, name);
#endif
}
#define HIP(name) (reinterpret_cast<decltype(&(name))>(find_in_library(#name)))
#endif

inline constexpr std::size_t mib = std::size_t{1} << 20U;
inline constexpr std::size_t small = 4096;
inline constexpr unsigned non_blocking = 1;
inline constexpr int invalid_value = 1;
inline constexpr int out_of_memory = 2;
inline constexpr int not_supported = 801;
inline constexpr int capture_unsupported = 900;

inline HeadroomHipCounts counts() {
  HeadroomHipCounts now{};
  now.size = sizeof now;
  // Behind libheadroom_preload.so it is not among the symbols of the process.
  void* const library = ::dlopen("libheadroom_hip.so", RTLD_NOW | RTLD_NOLOAD);
  const auto ask = reinterpret_cast<int (*)(HeadroomHipCounts*)>(
      library == nullptr ? nullptr : ::dlsym(library, "headroom_hip_get_counts"));
  EXPECT_NE(ask, nullptr) << "the process has no libheadroom_hip.so";
  EXPECT_EQ(ask == nullptr ? 1 : ask(&now), 0);
  return now;
}

inline void* take(std::size_t bytes = small) {
  void* block = nullptr;
  EXPECT_EQ(HIP(hipMalloc)(&block, bytes), 0);
  return block;
}

inline void write(void* block, unsigned char value) {
  const std::vector<unsigned char> bytes(small, value);
  ASSERT_EQ(HIP(hipMemcpy)(block, bytes.data(), small, 1), 0);
}

inline std::vector<unsigned char> read(const void* block) {
  std::vector<unsigned char> bytes(small);
  EXPECT_EQ(HIP(hipMemcpy)(bytes.data(), block, small, 2), 0);
  return bytes;
}

class Hip : public ::testing::Test {
 protected:
  Hip() {
    EXPECT_EQ(HIP(hipSetDevice)(0), 0);
    EXPECT_EQ(HIP(hipStreamCreateWithFlags)(&stream_, non_blocking), 0);
    EXPECT_EQ(HIP(hipGetLastError)(), 0);
  }
  void* stream_ = nullptr;
};
