// SPDX-License-Identifier: Apache-2.0
// The memory a job trains in: headroom's allocator over host pages, with the job's hard capacity,
// under libtorch; and, if asked for, a record of everything that is allocated.
#pragma once

#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "allocator/backends/host.h"
#include "allocator/headroom_allocator.h"
#include "allocator/trace_recorder.h"
#include "base/bytes.h"
#include "base/result.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {

class DeviceMemory {
 public:
  // `trace_path` empty: no record. Requires: outlives every tensor made meanwhile.
  static Result<std::unique_ptr<DeviceMemory>> create(Bytes capacity,
                                                      const std::string& trace_path);

  Bytes capacity() const { return {allocator_.capacity_bytes()}; }
  const TorchMemory& torch() const { return torch_; }

  // Runs work that uses libtorch and turns what it throws into an Error: out_of_memory with what
  // was live where the capacity did not suffice (kept in failure()), unsupported for the rest.
  Status run(const std::function<Status()>& work);
  const std::optional<allocator::OutOfMemory>& failure() const { return failure_; }

  // Writes out what the record still holds back.
  Status finish_trace();

 private:
  DeviceMemory(std::unique_ptr<allocator::HostBackend> backend, Bytes capacity,
               const std::string& trace_path);
  allocator::Policy& policy();

  std::string trace_path_;
  std::ofstream trace_;
  allocator::HeadroomAllocator allocator_;
  std::optional<allocator::TraceRecorder> recorder_;
  TorchMemory torch_;
  std::optional<allocator::OutOfMemory> failure_;
};

// The RAM this machine has; the capacity of a job that sets none.
Result<Bytes> installed_ram();

}  // namespace headroom::trainer
