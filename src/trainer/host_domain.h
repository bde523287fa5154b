// SPDX-License-Identifier: Apache-2.0
// Host memory for what a step does not need on the device for a while: a second allocator domain
// beside device_memory.h, with a capacity and figures of its own. Tensors here are plain tensors of
// the processor, whose memory libtorch neither gives nor counts; whoever computes with their
// numbers copies them to the device first. So it is the same code where both are RAM.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "allocator/component.h"
#include "allocator/policy.h"
#include "base/bytes.h"
#include "base/mutex.h"
#include "base/result.h"

namespace headroom::trainer {

// What HostDomain throws where its memory does not suffice. DeviceMemory::run() returns its error.
class OutOfHostMemory final : public std::exception {
 public:
  explicit OutOfHostMemory(Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// Outlives its tensors, which any thread may free.
class HostDomain {
 public:
  // Memory of this machine, in headroom's allocator; `virtual_memory`: it may be remapped.
  static Result<std::unique_ptr<HostDomain>> create(Bytes capacity, bool virtual_memory);
  // `policy` keeps to the capacity and hands out addresses that the processor can use. `refusal`:
  // why the system gave it no more, where that and not the capacity is what ended.
  using Refusal = std::function<std::optional<Error>()>;
  HostDomain(std::unique_ptr<allocator::Policy> policy, Bytes capacity, Refusal refusal = {})
      : policy_(std::move(policy)), capacity_(capacity), refusal_(std::move(refusal)) {}
  HostDomain(const HostDomain&) = delete;
  HostDomain& operator=(const HostDomain&) = delete;

  Bytes capacity() const { return capacity_; }
  allocator::Usage usage() const;

  // An uninitialised tensor. Throws OutOfHostMemory.
  at::Tensor empty(at::IntArrayRef shape, at::ScalarType type, allocator::Component tag);

 private:
  void* take(std::uint64_t bytes, allocator::Component tag);
  void give_back(void* address);

  mutable Mutex mutex_;
  std::unique_ptr<allocator::Policy> policy_ HEADROOM_GUARDED_BY(mutex_);
  Bytes capacity_;
  Refusal refusal_;
};

// What of this machine's memory may be taken now (allocator/backends/host_memory.h): the capacity
// of a job that sets none, where `processes` of it are on this machine.
Result<Bytes> free_host_memory(std::uint32_t processes);

}  // namespace headroom::trainer
