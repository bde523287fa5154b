// SPDX-License-Identifier: Apache-2.0
#include "trainer/device_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "machine/os_error.h"

namespace headroom::trainer {

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::create(Bytes capacity,
                                                           const std::string& trace_path) {
  HEADROOM_TRY(auto backend, allocator::HostBackend::create());
  std::unique_ptr<DeviceMemory> memory(new DeviceMemory(std::move(backend), capacity, trace_path));
  if (!trace_path.empty() && !memory->trace_) {
    return machine::os_error(errno, "writing " + trace_path);
  }
  return memory;
}

DeviceMemory::DeviceMemory(std::unique_ptr<allocator::HostBackend> backend, Bytes capacity,
                           const std::string& trace_path)
    : trace_path_(trace_path),
      allocator_(std::move(backend), capacity.value),
      torch_(policy(),
             [this](const allocator::Request& request) { return allocator_.explain(request); }) {}

allocator::Policy& DeviceMemory::policy() {
  if (trace_path_.empty()) return allocator_;
  trace_.open(trace_path_, std::ios::binary | std::ios::trunc);
  return recorder_.emplace(allocator_, [this](std::string_view line) { trace_ << line; });
}

Status DeviceMemory::run(const std::function<Status()>& work) {
  try {
    return work();
  } catch (const std::exception& problem) {
    failure_ = torch_.take_refused();
    if (failure_) return to_error(*failure_);
    const std::string what = problem.what();
    return Error{Errc::unsupported,
                 "libtorch could not do this: " + what.substr(0, what.find('\n')), ""};
  }
}

Status DeviceMemory::finish_trace() {
  if (trace_path_.empty()) return Done{};
  trace_.flush();
  if (trace_) return Done{};
  return Error{Errc::no_space,
               fmt::format("writing {}: not all of it could be written", trace_path_),
               "free space there, or name another file with --trace"};
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
