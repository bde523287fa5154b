// SPDX-License-Identifier: Apache-2.0
#include "deploy/judge.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::deploy {
namespace {

using findings::Cause;
using findings::sentence;

constexpr double sure = 0.8;  // From here on the log rules' cause stands for itself.

Cause make_cause(std::string id, double confidence, std::string title, std::string reason) {
  Cause cause;
  cause.id = std::move(id);
  cause.confidence = confidence;
  cause.title = std::move(title);
  if (!reason.empty()) cause.reasons.push_back(std::move(reason));
  return cause;
}

const Cause* log_cause(const Seen& seen) {
  return seen.log && seen.log->cause ? &*seen.log->cause : nullptr;
}

// What the log says is told with every cause, also where it does not decide it.
Cause with_log(Cause cause, const Seen& seen) {
  const Cause* log = log_cause(seen);
  if (log == nullptr || log->id == cause.id) {
    if (log != nullptr)
      cause.evidence.insert(cause.evidence.end(), log->evidence.begin(), log->evidence.end());
    return cause;
  }
  cause.reasons.push_back(fmt::format("its log shows {} ({:.0f} % sure): {}", log->id,
                                      log->confidence * 100, log->title));
  cause.evidence.insert(cause.evidence.end(), log->evidence.begin(), log->evidence.end());
  cause.fix.insert(cause.fix.end(), log->fix.begin(), log->fix.end());
  return cause;
}

std::string describe(const Death& death) {
  const std::string what = death.what.empty() ? "a process of it" : death.what;
  if (death.code < 0) return what + " ended; only its parent knows how";
  return death.signal
             ? fmt::format("{} was ended by signal {} (code {})", what, *death.signal, death.code)
             : fmt::format("{} ended with code {}", what, death.code);
}

std::uint64_t crashes(const Seen& seen) {
  return std::max<std::uint64_t>(seen.deaths.size(), seen.core_dumps);
}

bool died(const ServiceSpec& spec, const Seen& seen) {
  return crashes(seen) > spec.watch.crashes || seen.died_in_smoke ||
         (seen.down && !seen.deaths.empty());
}

std::optional<Cause> find_unhealthy(const ServiceSpec& spec, const Seen& seen) {
  const bool never = !seen.was_healthy && (seen.gave_up_health || died(spec, seen));
  if (!never && !seen.turned_bad) return std::nullopt;
  const std::string what =
      never ? "did not become healthy with the new configuration" : "did not stay healthy";
  Cause cause =
      make_cause("unhealthy", 0.95, spec.service.name + " " + what,
                 seen.unhealthy.empty() ? "" : "the last health request: " + seen.unhealthy);
  if (seen.turned_bad) cause.reasons.push_back(seen.hang);
  for (const Death& death : seen.deaths) cause.reasons.push_back(describe(death));
  cause.fix = {sentence("Read its log from the start.")};
  return with_log(std::move(cause), seen);
}

std::string limit_text(const Seen& seen) {
  const std::string limit = seen.memory_limit ? " of " + to_string(*seen.memory_limit) : "";
  const std::string peak =
      seen.memory_peak ? "; it held " + to_string(*seen.memory_peak) + " when last looked at" : "";
  return "the memory limit" + limit + " ended a process of it" + peak;
}

Cause ended_by_limit(const ServiceSpec& spec, const Seen& seen) {
  Cause cause = make_cause("memory-growth", 0.95, spec.service.name + " grew to its memory limit",
                           limit_text(seen));
  cause.evidence.push_back(
      {"computed", 0, fmt::format("{} out-of-memory kills", seen.oom_kills), ""});
  cause.fix = {sentence("Give it more memory (set = { memory = … }), or find what uses it.")};
  return with_log(std::move(cause), seen);
}

std::optional<Cause> find_death(const ServiceSpec& spec, const Seen& seen) {
  const Cause* log = log_cause(seen);
  const bool alarmed = !seen.alarms.empty() && log != nullptr && log->confidence >= sure;
  const bool by_limit =
      seen.oom_kills > 0 && (seen.oom_kills > spec.watch.crashes || died(spec, seen));
  if (by_limit) return ended_by_limit(spec, seen);
  if (!died(spec, seen) && !alarmed) return std::nullopt;
  std::vector<std::string> deaths;
  for (const Death& death : seen.deaths) deaths.push_back(describe(death));
  if (deaths.empty() && seen.core_dumps > 0)
    deaths.push_back(fmt::format("{} core dumps", seen.core_dumps));
  if (deaths.empty() && seen.log && seen.log->saw_death)
    deaths.emplace_back("its log shows that one of its processes died");
  if (log != nullptr && log->confidence >= sure) {
    Cause cause = *log;
    cause.reasons.insert(cause.reasons.begin(), deaths.begin(), deaths.end());
    return cause;
  }
  Cause cause =
      make_cause("crash-loop", 0.9, spec.service.name + " died with the new configuration", "");
  cause.reasons = deaths;
  cause.fix = {sentence("Look at its log, and at the core dump (coredumpctl) if there is one.")};
  return with_log(std::move(cause), seen);
}

std::optional<Cause> find_growth(const ServiceSpec& spec, const Seen& seen) {
  const auto& expected = spec.expect.memory;
  if (expected && seen.memory_peak && *seen.memory_peak > *expected) {
    Cause cause = make_cause("memory-growth", 0.95,
                             spec.service.name + " uses more memory than SERVICE.toml expects",
                             fmt::format("expected at most {}, found {}", to_string(*expected),
                                         to_string(*seen.memory_peak)));
    cause.fix = {sentence("Raise expect.memory if that is right, or find what uses the memory.")};
    return with_log(std::move(cause), seen);
  }
  if (!seen.growth) return std::nullopt;
  Cause cause = make_cause(
      "memory-growth", 0.85,
      spec.service.name + " grows towards its memory limit without levelling off",
      fmt::format("it grows by {} a minute{}",
                  to_string(Bytes{static_cast<std::uint64_t>(seen.growth->bytes_per_s * 60)}),
                  seen.memory ? ", and holds " + to_string(*seen.memory) + " now" : ""));
  cause.fix = {sentence("Find what uses the memory. A higher limit only delays the end.")};
  return with_log(std::move(cause), seen);
}

std::optional<Cause> of_fault(const ServiceSpec& spec, const Seen& seen, Fault::Kind kind,
                              std::string id, const std::string& what) {
  if (!seen.smoke || !seen.smoke->fault || seen.smoke->fault->kind != kind) return std::nullopt;
  const Fault& fault = *seen.smoke->fault;
  Cause cause = make_cause(std::move(id), 0.95, spec.service.name + " " + what, fault.message);
  cause.evidence.push_back({fault.source, 0, fault.text, fault.message});
  return with_log(std::move(cause), seen);
}

std::optional<Cause> find_hang(const ServiceSpec& spec, const Seen& seen) {
  if (seen.hangs) {
    return with_log(
        make_cause("hang", 0.95, spec.service.name + " does not answer, but does not end either",
                   seen.hang),
        seen);
  }
  return of_fault(spec, seen, Fault::Kind::no_answer, "hang",
                  "does not answer, but does not end either");
}

std::string describe(const GpuUse& use) {
  std::vector<std::string> parts;
  if (use.on_kfd)
    parts.emplace_back(*use.on_kfd ? "KFD lists one of its processes"
                                   : "KFD lists none of its processes");
  if (use.vram) parts.push_back("VRAM grew by " + to_string(*use.vram));
  if (use.gtt) parts.push_back("GTT grew by " + to_string(*use.gtt));
  if (use.busy_ms) parts.push_back(fmt::format("it kept the GPU busy for {} ms", *use.busy_ms));
  parts.insert(parts.end(), use.missing.begin(), use.missing.end());
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::optional<Cause> find_idle_gpu(const ServiceSpec& spec, const Seen& seen) {
  const bool measured = seen.smoke && seen.smoke->passed();
  if (!spec.expect.gpu || !measured) return std::nullopt;
  if (seen.gpu && is_used(*seen.gpu)) return std::nullopt;
  Cause cause = make_cause("gpu-not-used", seen.gpu && seen.gpu->on_kfd ? 0.95 : 0.7,
                           spec.service.name + " answers without the GPU",
                           seen.gpu ? describe(*seen.gpu) : "the GPU could not be looked at");
  cause.fix = {findings::command("headroom check"),
               sentence("Check whether the service was given /dev/kfd and /dev/dri, and whether "
                        "its framework is a build for ROCm.")};
  return with_log(std::move(cause), seen);
}

std::optional<Cause> find_slower(const ServiceSpec& spec, const Seen& seen) {
  const auto found = ratio(seen);
  if (spec.expect.faster <= 0 || !found || *found >= spec.expect.faster) return std::nullopt;
  return with_log(
      make_cause("slower", 0.9,
                 fmt::format("{} is {:.2f} times as fast as before; SERVICE.toml asks for {}",
                             spec.service.name, *found, spec.expect.faster),
                 fmt::format("median {:.1f} ms before, {:.1f} ms now", *seen.baseline->median_ms(),
                             *seen.smoke->median_ms())),
      seen);
}

}  // namespace

bool is_used(const GpuUse& use) {
  std::optional<bool> memory;
  if (use.vram || use.gtt)
    memory = use.vram.value_or(Bytes{}) + use.gtt.value_or(Bytes{}) > Bytes{};
  std::optional<bool> busy;
  if (use.busy_ms) busy = *use.busy_ms > 0;
  const bool shows = memory.value_or(false) || busy.value_or(false);
  if (use.on_kfd) return *use.on_kfd && (shows || (!memory && !busy));
  return memory.value_or(false) && busy.value_or(false);
}

std::optional<Cause> judge(const ServiceSpec& spec, const Seen& seen) {
  using Find = std::optional<Cause> (*)(const ServiceSpec&, const Seen&);
  constexpr Find in_order[] = {
      find_unhealthy,
      find_death,
      find_growth,
      find_hang,
      [](const ServiceSpec& s, const Seen& of) {
        return deploy::of_fault(s, of, Fault::Kind::failed, "smoke-failed", "fails its smoke test");
      },
      [](const ServiceSpec& s, const Seen& of) {
        return deploy::of_fault(s, of, Fault::Kind::wrong, "wrong-answer", "gives wrong answers");
      },
      find_idle_gpu,
      find_slower,
  };
  for (const Find find : in_order) {
    if (auto cause = find(spec, seen)) return cause;
  }
  return std::nullopt;
}

bool needs_log(const ServiceSpec& spec, const Seen& seen) {
  return !seen.alarms.empty() || judge(spec, seen).has_value();
}

std::optional<double> ratio(const Seen& seen) {
  if (!seen.baseline || !seen.smoke || !seen.smoke->passed()) return std::nullopt;
  const auto before = seen.baseline->median_ms();
  const auto after = seen.smoke->median_ms();
  if (!before || !after || *after <= 0) return std::nullopt;
  return *before / *after;
}

}  // namespace headroom::deploy
