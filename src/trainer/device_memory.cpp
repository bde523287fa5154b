// SPDX-License-Identifier: Apache-2.0
#include "trainer/device_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "allocator/backends/cuda_driver.h"
#include "allocator/backends/device_backend.h"
#include "allocator/backends/hip_driver.h"
#include "allocator/backends/host.h"
#include "allocator/forensics/diagnose.h"
#include "machine/os_error.h"
#include "machine/user_files.h"
#include "trainer/gpu_allocator.h"

namespace headroom::trainer {

namespace {

// Events of one stream, and as many of the device; 1 MiB.
constexpr std::uint64_t recorded_events = 16384;

allocator::FlightOptions recording_options(bool is_gpu) {
  return {.shards = 1,
          .shard_records = recorded_events,
          .device = is_gpu ? "a GPU's memory" : "host memory"};
}

Result<std::unique_ptr<allocator::FlightRecorder>> start_recording(
    const DeviceMemory::Options& options) {
  if (options.recording_path.empty() || options.source != MemorySource::headroom)
    return std::unique_ptr<allocator::FlightRecorder>();
  allocator::FlightOptions recording = recording_options(options.gpu.has_value());
  recording.capacity_bytes = options.capacity.value;
  return allocator::FlightRecorder::create(options.recording_path, recording);
}

Result<std::unique_ptr<allocator::Driver>> open_gpu(int gpu) {
  const auto runtime = replaceable_gpu_runtime();
  if (!runtime)
    return Error{Errc::unsupported,
                 "expected a libtorch whose allocator on the GPU can be replaced, found none",
                 "--allocator libtorch, which keeps to no capacity, or --device cpu"};
  return *runtime == allocator::GpuRuntime::hip ? allocator::open_hip(gpu)
                                                : allocator::open_cuda(gpu);
}

Result<std::unique_ptr<allocator::Backend>> make_backend(const DeviceMemory::Options& options) {
  using VirtualMemory = allocator::HostBackend::VirtualMemory;
  if (options.gpu && options.source == MemorySource::headroom) {
    HEADROOM_TRY(auto driver, open_gpu(*options.gpu));
    return std::unique_ptr<allocator::Backend>(
        std::make_unique<allocator::DeviceBackend>(std::move(driver)));
  }
  HEADROOM_TRY(auto host, allocator::HostBackend::create(
                              options.virtual_memory ? VirtualMemory::on : VirtualMemory::off));
  return std::unique_ptr<allocator::Backend>(std::move(host));
}

}  // namespace

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::create(const Options& options) {
  // A new file in its place: what was there may have other names that are to keep it.
  if (!options.trace_path.empty())
    HEADROOM_CHECK(machine::write_file_atomic(options.trace_path, ""));
  HEADROOM_TRY(auto backend, make_backend(options));
  HEADROOM_TRY(auto planner, allocator::BackgroundThread::start());
  std::unique_ptr<DeviceMemory> memory(
      new DeviceMemory(std::move(backend), std::move(planner), options));
  if (options.host_capacity) {
    HEADROOM_TRY(memory->host_, HostDomain::create(*options.host_capacity, options.virtual_memory));
  }
  HEADROOM_CHECK(memory->put_under_libtorch());
  if (!options.trace_path.empty() && !memory->trace_) {
    return machine::os_error(errno, "writing " + options.trace_path);
  }
  return memory;
}

DeviceMemory::DeviceMemory(std::unique_ptr<allocator::Backend> backend,
                           std::unique_ptr<allocator::BackgroundThread> planner,
                           const Options& options)
    : options_(options),
      planner_(std::move(planner)),
      allocator_(std::move(backend), options.capacity.value, core_options()) {}

Status DeviceMemory::put_under_libtorch() {
  if (options_.source == MemorySource::libtorch) return Done{};
  const auto why = [this](const allocator::Request& request) { return explain(request); };
  if (options_.gpu) {
    HEADROOM_TRY(torch_, TorchMemory::on_gpu(policy(), why));
  } else {
    torch_ = std::make_unique<TorchMemory>(policy(), why);
  }
  return Done{};
}

allocator::HeadroomAllocator::Options DeviceMemory::core_options() {
  allocator::HeadroomAllocator::Options core;
  core.executor = [planner = planner_.get()](std::function<void()> work) {
    planner->run(std::move(work));
  };
  auto recording = start_recording(options_);
  if (recording)
    recording_ = *std::move(recording);
  else
    recording_problem_ = recording.error();
  if (recording_) {
    core.recorder = [shards = recording_.get()](std::uint32_t number) {
      return number == 0 ? &shards->shard(0) : nullptr;  // Everything here is of one stream.
    };
    core.device_recorder = &recording_->device_shard();
  }
  return core;
}

allocator::Policy& DeviceMemory::policy() {
  if (options_.trace_path.empty()) return allocator_;
  trace_.open(options_.trace_path, std::ios::binary | std::ios::app);
  return recorder_.emplace(allocator_, [this](std::string_view line) { trace_ << line; });
}

allocator::OutOfMemory DeviceMemory::explain(const allocator::Request& request) const {
  allocator::HeapView view = allocator_.view(request);
  view.batch = options_.batch;
  view.batch_line = batches_.line();
  return diagnose(view);
}

std::optional<MeasuredMemory> DeviceMemory::measured() const {
  if (!torch_) return std::nullopt;
  MeasuredMemory measured{torch_->usage(), torch_->peak_by_component(), allocator_.capacity_bytes(),
                          allocator_.miss_counts(), allocator_.plan_counts()};
  if (host_) measured.host = {host_->usage(), host_->capacity().value};
  return measured;
}

void DeviceMemory::end_step(std::uint64_t batch) {
  if (!torch_) return;
  allocator::BatchObservation step{.batch = batch};
  const allocator::ByComponent peak = torch_->take_peak();
  for (const allocator::Component component : allocator::all_components) {
    const bool varies = component == allocator::Component::activations ||
                        component == allocator::Component::logits ||
                        component == allocator::Component::workspace;
    (varies ? step.variable_bytes : step.constant_bytes) += peak[component];
  }
  batches_.observe(step);
}

Status DeviceMemory::run(const std::function<Status()>& work) {
  try {
    return work();
  } catch (const OutOfHostMemory& problem) {
    return problem.error();
  } catch (const std::exception& problem) {
    if (torch_) failure_ = torch_->take_refused();
    if (failure_) return to_error(*failure_);
    const std::string what = problem.what();
    return Error{Errc::unsupported,
                 "libtorch could not do this: " + what.substr(0, what.find('\n')), ""};
  }
}

Status DeviceMemory::finish_trace() {
  if (options_.trace_path.empty()) return Done{};
  trace_.flush();
  if (trace_) return Done{};
  return Error{Errc::no_space,
               fmt::format("writing {}: not all of it could be written", options_.trace_path),
               "free space there, or name another file with --trace"};
}

std::string recording_path(const std::string& output, std::uint32_t rank) {
  return rank == 0 ? output + "/allocator.flight"
                   : fmt::format("{}/allocator.rank{}.flight", output, rank);
}

std::uint64_t recording_bytes() {
  return allocator::flight_file_bytes(recording_options(false));
}

Result<Bytes> free_on_gpu(int gpu) {
  constexpr Bytes of_libraries = 512_MiB;  // Their code and workspaces; an estimate.
  HEADROOM_TRY(const auto driver, open_gpu(gpu));
  HEADROOM_TRY(const allocator::MemoryInfo memory, driver->memory_info());
  return Bytes{memory.free_bytes - std::min(memory.free_bytes, of_libraries.value)};
}

Result<Bytes> installed_ram() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) {
    return Error{Errc::unsupported, "the kernel does not say how much memory this machine has",
                 "set device.capacity in the job"};
  }
  return Bytes{static_cast<std::uint64_t>(pages)} * static_cast<std::uint64_t>(page);
}

}  // namespace headroom::trainer
