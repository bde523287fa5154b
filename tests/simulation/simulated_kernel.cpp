// SPDX-License-Identifier: Apache-2.0
#include "simulation/simulated_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace headroom::testing {
namespace {

using plan::Rung;

constexpr std::uint64_t longest_ms = 3'600'000;
constexpr std::uint64_t restart_delay_ms = 400;

std::string name(const SimulatedProcess& process) {
  return fmt::format("{} (PID {}, began {})", process.command, process.pid, process.start_ticks);
}

}  // namespace

bool SimulatedKernel::is_target(const SimulatedProcess& process) const {
  return std::any_of(plan_.targets.begin(), plan_.targets.end(), [&](const plan::Target& target) {
    return target.held.pid == process.pid && target.held.start_ticks == process.start_ticks;
  });
}

void SimulatedKernel::act(Rung rung, const std::string& what) {
  ++acts;
  if (rung > plan_.options.up_to) crimes.push_back(what + " lies beyond --up-to");
  if (last_was_enough_) crimes.push_back(what + " although enough was free");
  if (measurements == 0) crimes.push_back(what + " before anything was measured");
  if (plan_.for_host) crimes.push_back(what + " from inside a container");
}

void SimulatedKernel::end(SimulatedProcess& process) {
  if (!process.alive) return;
  process.alive = false;
  process.client = false;
  process.ends_at = SimulatedProcess::never;
  if (!process.never_freed) process.freed_at = world_.now_ms + process.freed_after_ms;
  if (process.restarted) process.restarts_at = world_.now_ms + restart_delay_ms;
}

// What falls due on the way to this time, in steps short enough for the order not to matter.
void SimulatedKernel::pass_to(std::uint64_t time_ms) {
  if (time_ms > longest_ms) throw std::runtime_error("it does not come to an end");
  while (true) {
    world_.now_ms = std::min(time_ms, world_.now_ms + 50);
    std::vector<SimulatedProcess> born;
    for (SimulatedProcess& process : world_.processes) {
      if (process.alive && process.ends_at <= world_.now_ms) end(process);
      if (!process.alive && process.freed_at <= world_.now_ms) process.listed = false;
      if (process.restarts_at > world_.now_ms) continue;
      process.restarts_at = SimulatedProcess::never;
      SimulatedProcess next = process;
      next.pid += 1000;
      next.start_ticks += 5000;
      next.alive = next.listed = next.client = true;
      next.freed_at = next.ends_at = SimulatedProcess::never;
      born.push_back(next);
    }
    world_.processes.insert(world_.processes.end(), born.begin(), born.end());
    if (world_.now_ms >= time_ms) return;
  }
}

void SimulatedKernel::wait_ms(std::uint64_t duration_ms) {
  pass_to(world_.now_ms + duration_ms);
}

Result<plan::Measurement> SimulatedKernel::measure() {
  ++measurements;
  if (touched_driver_ && world_.measuring_fails) {
    return Error{Errc::not_found, "the GPU is not there", ""};
  }
  auto measured = plan::measure(facts_of(world_), occupancy_of(world_), simulated_gpu);
  last_was_enough_ = measured && plan::is_enough(plan_, *measured);
  return measured;
}

Result<int> SimulatedKernel::hold(std::uint64_t pid, std::uint64_t start_ticks) {
  for (std::size_t i = 0; i < world_.processes.size(); ++i) {
    const SimulatedProcess& process = world_.processes[i];
    if (!process.alive || process.pid != pid || process.start_ticks != start_ticks) continue;
    held_.push_back(i);
    return static_cast<int>(held_.size()) - 1;
  }
  return Error{Errc::not_found, "it has ended", ""};
}

Status SimulatedKernel::send(int held, reclaim::Signal signal) {
  SimulatedProcess& process = world_.processes[held_[static_cast<std::size_t>(held)]];
  const bool kill = signal == reclaim::Signal::kill;
  if (!process.alive) return Error{Errc::not_found, "it has ended", ""};
  act(kill ? Rung::insist : Rung::ask, "signalling " + name(process));
  if (!is_target(process)) crimes.push_back("signalled an innocent: " + name(process));
  if (!world_.root && process.uid != 1000) {
    return Error{Errc::no_permission, "Operation not permitted", ""};
  }
  const bool reached =
      process.reaction == Reaction::obeys || (process.reaction == Reaction::ignores && kill);
  if (reached) process.ends_at = world_.now_ms + (kill ? 10 : process.ends_after_ms);
  return Done{};
}

bool SimulatedKernel::wait_ended(int held, std::uint64_t timeout_ms) {
  const std::size_t index = held_[static_cast<std::size_t>(held)];
  const std::uint64_t deadline = world_.now_ms + timeout_ms;
  while (world_.processes[index].alive && world_.now_ms < deadline) {
    pass_to(std::min(deadline, world_.now_ms + 50));
  }
  return !world_.processes[index].alive;
}

char SimulatedKernel::state(int held) {
  const SimulatedProcess& process = world_.processes[held_[static_cast<std::size_t>(held)]];
  return process.reaction == Reaction::stuck ? 'D' : 'S';
}

Status SimulatedKernel::answer(Answer answer, std::uint64_t timeout_ms, const std::string& what) {
  switch (answer) {
    case Answer::works:
      return Done{};
    case Answer::refuses:
      return Error{Errc::io, what + ": Device or resource busy", ""};
    case Answer::no_permission:
      return Error{Errc::no_permission, what + ": Operation not permitted", ""};
    case Answer::hangs:
      break;
  }
  pass_to(world_.now_ms + timeout_ms);
  return Error{Errc::busy, what + ": it did not come back", ""};
}

void SimulatedKernel::accuse_living_clients(const std::string& what, bool of_chosen_too) {
  for (const SimulatedProcess& process : world_.processes) {
    if (!process.alive || !process.client) continue;
    if (of_chosen_too || !is_target(process)) crimes.push_back(what + " under " + name(process));
  }
}

Status SimulatedKernel::write(const std::string& path, const std::string& /*text*/,
                              std::uint64_t timeout_ms) {
  if (!world_.root) crimes.push_back("wrote to " + path + " without root");
  if (path == "/proc/sys/vm/drop_caches") {
    act(Rung::empty_pool, path);
    HEADROOM_CHECK(answer(world_.write, timeout_ms, path));
    world_.pool = Bytes{};
    return Done{};
  }
  act(Rung::unbind_bind, path);
  if (world_.integrated) crimes.push_back("touched the driver of an APU: " + path);
  accuse_living_clients(path, true);
  HEADROOM_CHECK(answer(world_.write, timeout_ms, path));
  touched_driver_ = true;
  if (path.ends_with("/bind")) {
    for (SimulatedProcess& process : world_.processes) process.listed = process.alive;
  }
  return Done{};
}

void SimulatedKernel::stop_members(const std::vector<std::string>& argv) {
  const std::string& what = argv.back();
  const auto allowed =
      std::any_of(plan_.services.begin(), plan_.services.end(), [&](const plan::Service& service) {
        return service.refused.empty() && (service.unit == what || service.container == what);
      });
  if (!allowed) crimes.push_back("stopped " + what);
  for (SimulatedProcess& process : world_.processes) {
    if (process.unit != what && process.container != what) continue;
    process.restarted = false;
    process.restarts_at = SimulatedProcess::never;
    const bool spared =
        std::any_of(plan_.spared.begin(), plan_.spared.end(), [&](const plan::Spared& one) {
          return one.held.pid == process.pid && one.held.start_ticks == process.start_ticks;
        });
    if (process.alive && spared) crimes.push_back("stopped an innocent: " + name(process));
    if (process.alive && process.reaction != Reaction::stuck) {
      process.ends_at = world_.now_ms + 500;
    }
  }
}

Status SimulatedKernel::run(const std::vector<std::string>& argv, std::uint64_t timeout_ms) {
  const bool modprobe = argv.front() == "modprobe";
  act(modprobe ? Rung::module_reload : Rung::stop_service, argv.front() + " " + argv.back());
  if (modprobe && world_.integrated) crimes.emplace_back("touched the driver of an APU");
  if (modprobe && !touched_driver_) accuse_living_clients("modprobe", true);
  HEADROOM_CHECK(answer(world_.run, timeout_ms, argv.front()));
  if (!modprobe) {
    stop_members(argv);
    return Done{};
  }
  touched_driver_ = true;
  for (SimulatedProcess& process : world_.processes) process.listed = process.alive;
  return Done{};
}

Status SimulatedKernel::reset_gpu(std::uint64_t /*card*/, std::uint64_t timeout_ms) {
  act(Rung::driver_reset, "reset");
  if (world_.integrated) crimes.emplace_back("reset an APU");
  if (!world_.root) crimes.emplace_back("reset without root");
  accuse_living_clients("reset", false);
  HEADROOM_CHECK(answer(world_.reset, timeout_ms, "reset"));
  touched_driver_ = true;
  for (SimulatedProcess& process : world_.processes) {
    if (process.client && process.reaction != Reaction::stuck) end(process);
    process.listed = process.alive;
  }
  return Done{};
}

}  // namespace headroom::testing
