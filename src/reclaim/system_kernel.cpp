// SPDX-License-Identifier: Apache-2.0
#include "reclaim/system_kernel.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "facts/process_stat.h"
#include "machine/bounded_call.h"
#include "machine/clock.h"
#include "machine/files.h"
#include "machine/gpu_recover.h"
#include "machine/process_handle.h"
#include "machine/programs.h"
#include "machine/writable_files.h"

namespace headroom::reclaim {
namespace {

using machine::ProcessHandle;

struct Held {
  std::uint64_t pid = 0;
  ProcessHandle handle;
};

class SystemKernel : public Kernel {
 public:
  SystemKernel(std::string root, machine::Files system, machine::WritableFiles files,
               std::unique_ptr<machine::Programs> programs, Measure measure)
      : root_(std::move(root)),
        system_(std::move(system)),
        files_(std::move(files)),
        programs_(std::move(programs)),
        measure_(std::move(measure)) {}

  std::uint64_t now_ms() override { return machine::monotonic_ns() / 1'000'000; }
  void wait_ms(std::uint64_t duration_ms) override { machine::sleep_ms(duration_ms); }

  Result<plan::Measurement> measure() override { return measure_(); }

  // First the descriptor, then the look: what is read belongs to the process that is held or, if
  // that has ended meanwhile, to one that began later.
  Result<int> hold(std::uint64_t pid, std::uint64_t start_ticks) override {
    HEADROOM_TRY(ProcessHandle handle, ProcessHandle::open(pid));
    const auto stat = read_stat(pid);
    if (!stat || stat->start_ticks != start_ticks || handle.wait_ended(0)) {
      return Error{
          Errc::not_found,
          fmt::format("process {} has ended; its number may belong to another process now", pid),
          ""};
    }
    held_.push_back({pid, std::move(handle)});
    return static_cast<int>(held_.size()) - 1;
  }

  Status send(int held, Signal signal) override {
    return at(held).handle.send(signal == Signal::kill ? ProcessHandle::Signal::kill
                                                       : ProcessHandle::Signal::terminate);
  }

  bool wait_ended(int held, std::uint64_t timeout_ms) override {
    return at(held).handle.wait_ended(timeout_ms);
  }

  char state(int held) override {
    const auto stat = read_stat(at(held).pid);
    return stat && !at(held).handle.wait_ended(0) ? stat->state : '?';
  }

  Status write(const std::string& path, const std::string& text,
               std::uint64_t timeout_ms) override {
    return machine::call_bounded([&] { return files_.write_in_place(path, text); }, timeout_ms,
                                 "writing to " + path);
  }

  Status run(const std::vector<std::string>& argv, std::uint64_t timeout_ms) override {
    const std::string command = join(argv, " ");
    const auto call = [&]() -> Status {
      HEADROOM_TRY(const machine::ProgramOutput output, programs_->run(argv));
      if (output.status == 0) return Done{};
      const std::string_view said = trim(output.text);
      return Error{Errc::invalid,
                   fmt::format("{} ended with status {}{}{}", command, output.status,
                               said.empty() ? "" : ": ", said),
                   ""};
    };
    return machine::call_bounded(call, timeout_ms, command);
  }

  Status reset_gpu(std::uint64_t card, std::uint64_t timeout_ms) override {
    return machine::call_bounded([&] { return machine::reset_gpu(root_, card); }, timeout_ms,
                                 fmt::format("resetting the GPU of card{}", card));
  }

 private:
  Held& at(int held) { return held_[static_cast<std::size_t>(held)]; }

  std::optional<facts::ProcessStat> read_stat(std::uint64_t pid) const {
    const auto text = system_.read(fmt::format("/proc/{}/stat", pid));
    return text ? facts::parse_process_stat(*text) : std::nullopt;
  }

  std::string root_;
  machine::Files system_;
  machine::WritableFiles files_;
  std::unique_ptr<machine::Programs> programs_;
  Measure measure_;
  std::vector<Held> held_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_system_kernel(const std::string& root, Measure measure) {
  HEADROOM_TRY(machine::WritableFiles files, machine::WritableFiles::open(root));
  HEADROOM_TRY(machine::Files system, machine::Files::open("/"));
  HEADROOM_TRY(auto programs, machine::make_programs(root));
  return std::unique_ptr<Kernel>(std::make_unique<SystemKernel>(
      root, std::move(system), std::move(files), std::move(programs), std::move(measure)));
}

}  // namespace headroom::reclaim
