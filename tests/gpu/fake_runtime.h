// SPDX-License-Identifier: Apache-2.0
// What the stand-ins of HIP's and CUDA's libraries have in common: two GPUs of the fake driver, the
// thread's state that a well-behaved caller leaves as it was, and refusals of what no caller should
// do. So that the function tables are called, and not only compiled, where there is no GPU.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "allocator/backends/testing/fake_driver.h"
#include "base/text.h"

namespace headroom::gpu {

inline constexpr int success = 0;
inline constexpr int invalid_value = 1;
inline constexpr int out_of_memory = 2;
inline constexpr int invalid_device = 101;
inline constexpr int not_ready = 600;
inline constexpr int capture_unsupported = 900;

inline constexpr int global_capture = 0;
inline constexpr int relaxed_capture = 2;

// Of the calling thread, as the real ones have it.
struct ThreadState {
  int device = -1;  // None yet.
  int capture_mode = global_capture;
  int last_error = success;
};

inline ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

inline constexpr int device_count = 2;

// Where the two cards of tests/machines/two-cards-full-host.toml are.
inline constexpr std::array<const char*, device_count> pci_addresses = {"0000:0C:00.0",
                                                                        "0000:0F:00.0"};

using Drivers = std::array<allocator::testing::FakeDriver, device_count>;

// FAKE_GPU_FAULTS="none,hang": what is wrong with each GPU, for programs that open the stand-ins.
inline bool give_faults(Drivers& drivers) {
  using allocator::testing::Fault;
  const char* variable = std::getenv("FAKE_GPU_FAULTS");
  const auto faults = split(variable == nullptr ? "" : variable, ',');
  for (std::size_t i = 0; i < faults.size() && i < drivers.size(); ++i) {
    if (faults[i] == "hang") drivers[i].set_fault(Fault::hang);
    if (faults[i] == "crash") drivers[i].set_fault(Fault::crash);
    if (faults[i] == "live_data_zeroed") drivers[i].set_fault(Fault::live_data_zeroed);
  }
  return true;
}

inline allocator::testing::FakeDriver& driver_of(int device) {
  static Drivers drivers;
  static const bool faults_are_given = give_faults(drivers);
  static_cast<void>(faults_are_given);
  return drivers.at(static_cast<std::size_t>(device));
}

inline int code_of(const Error& error) {
  return error.code == Errc::out_of_memory ? out_of_memory : invalid_value;
}

// One call on the current device. `unsafe`: one that another thread's capture of a graph forbids
// unless this thread has relaxed it.
template <class Work>
int on_device(bool unsafe, Work&& work) {
  const ThreadState& state = thread_state();
  if (state.device < 0 || state.device >= device_count) return invalid_device;
  if (unsafe && state.capture_mode != relaxed_capture) return capture_unsupported;
  const auto result = work(driver_of(state.device));
  return result ? success : code_of(result.error());
}

// The same of a call that gives a number, which goes to `out`.
template <class Out, class Work>
int on_device(bool unsafe, Out* out, Work&& work) {
  return on_device(unsafe, [&](auto& driver) {
    auto result = work(driver);
    if (result) *out = (Out)*result;  // NOLINT: a number to a pointer, or to another number.
    return result;
  });
}

}  // namespace headroom::gpu
