// SPDX-License-Identifier: Apache-2.0
// The memory a job trains in: headroom's allocator over host pages or over a GPU's memory, with the
// job's hard capacity, under libtorch; what it records of that; and why it did not suffice. Beside
// it, where the job offloads anything, the host memory for that (host_domain.h).
#pragma once

#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "allocator/backend.h"
#include "allocator/backends/background_thread.h"
#include "allocator/files/flight_recorder.h"
#include "allocator/forensics/batch_observer.h"
#include "allocator/headroom/headroom_allocator.h"
#include "allocator/replay/trace_recorder.h"
#include "base/bytes.h"
#include "base/result.h"
#include "trainer/host_domain.h"
#include "trainer/metrics.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {

// Whose memory tensors live in. libtorch's own keeps to no capacity and counts nothing; it is there
// to be compared with.
enum class MemorySource : std::uint8_t { headroom, libtorch };

class DeviceMemory {
 public:
  struct Options {
    Bytes capacity;
    MemorySource source = MemorySource::headroom;
    std::string trace_path = {};      // Every allocation, for headroom replay; empty: no record.
    std::string recording_path = {};  // The last events, readable after a crash; empty: none.
    std::uint64_t batch = 0;          // Samples in a micro-batch; 0: not known.
    bool virtual_memory = true;       // Host memory may be remapped.
    std::optional<int> gpu = {};      // The GPU's number in place of host memory; not remapped.
    std::optional<Bytes> host_capacity = {};  // Of what is offloaded; none: nothing is.
  };

  // Requires: outlives every tensor made meanwhile. Of a GPU there is one in a process, before
  // anything is on a GPU; it fails where libtorch's allocator cannot be replaced there.
  static Result<std::unique_ptr<DeviceMemory>> create(const Options& options);

  Bytes capacity() const { return {allocator_.capacity_bytes()}; }
  // Where to offload; null where nothing is.
  HostDomain* host() { return host_.get(); }
  // What was measured so far; nothing of libtorch's own memory.
  std::optional<MeasuredMemory> measured() const;

  // Runs work that uses libtorch and turns what it throws into an Error: out_of_memory with what
  // was live where the capacity did not suffice (kept in failure()), or with what was taken of host
  // memory where that did not, and unsupported for the rest.
  Status run(const std::function<Status()>& work);
  const std::optional<allocator::OutOfMemory>& failure() const { return failure_; }
  // What ran out of memory is done again in another way: failure() is nothing any more.
  void forgive() { failure_.reset(); }

  // After each step, whose largest micro-batch had so many samples: what a sample costs is learned
  // from the steps' peaks.
  void end_step(std::uint64_t batch);

  // Writes out what the trace still holds back.
  Status finish_trace();
  // Why there is no flight recording though one was asked for. A run goes on without.
  const std::optional<Error>& recording_problem() const { return recording_problem_; }

 private:
  DeviceMemory(std::unique_ptr<allocator::Backend> backend,
               std::unique_ptr<allocator::BackgroundThread> planner, const Options& options);
  Status put_under_libtorch();
  allocator::HeadroomAllocator::Options core_options();
  allocator::Policy& policy();
  allocator::OutOfMemory explain(const allocator::Request& request) const;

  Options options_;
  std::unique_ptr<allocator::BackgroundThread> planner_;
  std::optional<Error> recording_problem_;
  std::unique_ptr<allocator::FlightRecorder> recording_;
  std::ofstream trace_;
  allocator::HeadroomAllocator allocator_;
  allocator::BatchObserver batches_;
  std::optional<allocator::TraceRecorder> recorder_;
  std::unique_ptr<HostDomain> host_;
  std::unique_ptr<TorchMemory> torch_;
  std::optional<allocator::OutOfMemory> failure_;
};

// Where the flight recording of a run, or of one of its ranks, is, and how long.
std::string recording_path(const std::string& output, std::uint32_t rank = 0);
std::uint64_t recording_bytes();

// The RAM this machine has, and what is free on a GPU, less what the libraries of a step take there
// beside the allocator: the capacity of a job that sets none.
Result<Bytes> installed_ram();
Result<Bytes> free_on_gpu(int gpu);

}  // namespace headroom::trainer
