// SPDX-License-Identifier: Apache-2.0
// The rungs after the signals. Each has a deadline for everything that it does.
#include <fmt/format.h>

#include <algorithm>

#include "reclaim/session.h"

namespace headroom::reclaim {
namespace {

constexpr std::uint64_t kfd_wait_ms = 30'000;
constexpr std::uint64_t pool_ms = 60'000;
constexpr std::uint64_t command_ms = 60'000;
constexpr std::uint64_t stop_wait_ms = 95'000;  // systemd kills a unit's processes after 90 s.
constexpr std::uint64_t driver_ms = 120'000;
constexpr const char* driver_folder = "/sys/bus/pci/drivers/amdgpu/";

bool holds(const plan::Service& service, const plan::Measurement& now) {
  return std::any_of(now.holders.begin(), now.holders.end(), [&](const plan::Held& held) {
    return service.container.empty() ? held.unit == service.unit
                                     : held.container == service.container;
  });
}

// What a step of a rung came to; busy is the deadline's.
Taken note(const Status& status, const std::string& step, plan::RungDone& done) {
  if (status) {
    done.did.push_back(step);
    return Taken::done;
  }
  done.failed = fmt::format("{}: {}", step, status.error().message);
  return status.error().code == Errc::busy ? Taken::hung : Taken::done;
}

Taken measure_effect(Session& session, plan::RungDone& done) {
  const Status status = session.measure_until_enough(effect_wait_ms);
  if (status) return Taken::done;
  done.failed = status.error().message;
  return Taken::no_gpu;
}

}  // namespace

Taken take_wait_kfd(Session& session, plan::RungDone& done) {
  const auto waits_for = [&session] {
    const plan::Measurement& now = session.now();
    return now.dead().value > 0 || (now.unowned && now.unowned->value > 0);
  };
  if (!waits_for()) {
    done.skipped = "no dead process holds memory";
    return Taken::done;
  }
  const Status status = session.measure_until(kfd_wait_ms, [&] { return !waits_for(); });
  if (!status) {
    done.failed = status.error().message;
    return Taken::no_gpu;
  }
  done.did.push_back(waits_for() ? "the driver has not released them: the release is stuck"
                                 : "the driver has released the dead processes");
  return Taken::done;
}

Taken take_empty_pool(Session& session, plan::RungDone& done) {
  const Status written = session.kernel().write("/proc/sys/vm/drop_caches", "2", pool_ms);
  const Taken taken = note(written, "dropped caches, including TTM's pool", done);
  return taken == Taken::done && written ? measure_effect(session, done) : taken;
}

Taken take_stop_service(Session& session, plan::RungDone& done) {
  bool any = false;
  for (const plan::Service& service : session.plan().services) {
    if (!service.refused.empty() || !holds(service, session.now())) continue;
    if (session.is_enough()) break;
    any = true;
    const Status ran = session.kernel().run(service.argv, command_ms);
    if (note(ran, "stopped " + service.name, done) == Taken::hung) return Taken::hung;
    if (!ran) continue;
    const Status status =
        session.measure_until(stop_wait_ms, [&] { return !holds(service, session.now()); });
    if (!status) return Taken::no_gpu;
    if (holds(service, session.now())) {
      done.failed = service.name + " was told to stop, but its processes still hold memory";
    }
  }
  if (!any) {
    done.skipped = "no unit or container that could be stopped holds memory of this GPU any more";
    return Taken::done;
  }
  return measure_effect(session, done);
}

Taken take_unbind_bind(Session& session, plan::RungDone& done) {
  const plan::ReclaimPlan& plan = session.plan();
  const std::string folder = driver_folder;
  const Status off = session.kernel().write(folder + "unbind", plan.pci, driver_ms);
  const Taken taken = note(off, "unbound the driver from " + plan.pci, done);
  if (!off) return taken;
  const Status on = session.kernel().write(folder + "bind", plan.pci, driver_ms);
  if (note(on, "bound the driver to " + plan.pci, done) == Taken::hung) return Taken::hung;
  return on ? measure_effect(session, done) : Taken::no_gpu;
}

Taken take_module_reload(Session& session, plan::RungDone& done) {
  const Status off = session.kernel().run({"modprobe", "-r", "amdgpu"}, driver_ms);
  const Taken taken = note(off, "unloaded amdgpu", done);
  if (!off) return taken;
  const Status on = session.kernel().run({"modprobe", "amdgpu"}, driver_ms);
  if (note(on, "loaded amdgpu", done) == Taken::hung) return Taken::hung;
  return on ? measure_effect(session, done) : Taken::no_gpu;
}

Taken take_driver_reset(Session& session, plan::RungDone& done) {
  const plan::ReclaimPlan& plan = session.plan();
  if (!plan.card) {
    done.skipped = "the driver shows no card for " + plan.pci;
    return Taken::done;
  }
  const Status reset = session.kernel().reset_gpu(*plan.card, driver_ms);
  const Taken taken = note(reset, "made the driver reset " + plan.pci, done);
  return reset ? measure_effect(session, done) : taken;
}

}  // namespace headroom::reclaim
