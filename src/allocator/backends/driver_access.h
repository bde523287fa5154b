// SPDX-License-Identifier: Apache-2.0
// What the self-test needs of a GPU besides a Backend, from its Driver.
#pragma once

#include "allocator/backends/driver.h"
#include "allocator/self_test/self_test.h"

namespace headroom::allocator {

class DriverAccess final : public DeviceAccess {
 public:
  // `driver` outlives this object.
  explicit DriverAccess(Driver& driver) : driver_(&driver) {}

  Status write(std::uint64_t address, std::span<const std::uint64_t> words) override {
    return driver_->copy_in(address, words.data(), words.size_bytes());
  }
  Status read(std::uint64_t address, std::span<std::uint64_t> words) override {
    return driver_->copy_out(words.data(), address, words.size_bytes());
  }
  Status fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word) override {
    return driver_->fill(address, bytes, word);
  }
  Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) override {
    return driver_->copy(to, from, bytes);
  }
  // HIP reports impossible figures on some APUs (ROCm/hip#3892); these are ignored.
  std::optional<std::uint64_t> free_bytes() override {
    const auto info = driver_->memory_info();
    if (!info || info->free_bytes > info->total_bytes) return std::nullopt;
    return info->free_bytes;
  }
  std::uint64_t now_ns() override { return driver_->now_ns(); }
  void pause(std::uint64_t ns) override { driver_->pause(ns); }

 private:
  Driver* driver_;
};

}  // namespace headroom::allocator
