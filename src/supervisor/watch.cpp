// SPDX-License-Identifier: Apache-2.0
// What a look at the tree of processes shows: too much memory, no work, growth.
#include <fmt/format.h>

#include "supervisor/supervisor.h"
#include "supervisor/wording.h"

namespace headroom::supervisor {
namespace {

// How often growth is asked for: it shows after two minutes at the earliest.
constexpr Time growth_every{15000};

AttemptCause observed(std::string id, std::string title, std::string text, findings::Step fix) {
  AttemptCause cause;
  cause.id = std::move(id);
  cause.confidence = 0.95;
  cause.title = std::move(title);
  cause.evidence.push_back({"headroom run", 0, std::move(text), ""});
  cause.fix.push_back(std::move(fix));
  return cause;
}

}  // namespace

void Supervisor::watch_memory(const event::Sample& sample) {
  if (!policy_.memory || !sample.memory || sample.has_enforced_limit) return;
  if (*sample.memory <= *policy_.memory || current_.pressure >= Pressure::killed) return;
  const std::string text =
      fmt::format("the processes of the command use {} together, more than the limit of {}",
                  to_string(*sample.memory), to_string(*policy_.memory));
  if (current_.reason == Reason::none) {
    current_.reason = Reason::memory;
    current_.cause = observed("cgroup-memory-limit", "The memory limit of the run is too small.",
                              text, findings::sentence("Start it with a larger --memory."));
  }
  say(text + ": ending them");
  kill();
}

// Asked first, so that a training run can write its checkpoint while there is still room for that.
void Supervisor::watch_guard(const event::Sample& sample) {
  if (!policy_.guard || !sample.system_left || *sample.system_left >= *policy_.guard) return;
  // Somebody else takes the memory: the end of a small command would change nothing.
  const Bytes lacking = *policy_.guard - *sample.system_left;
  if (sample.held && *sample.held < lacking) return;
  const bool at_once = sample.system_left->value < policy_.guard->value / 2;
  if (current_.pressure >= (at_once ? Pressure::killed : Pressure::asked)) return;
  const std::string text =
      fmt::format("{} of the system's memory is left, and the guard keeps {} free",
                  to_string(*sample.system_left), to_string(*policy_.guard));
  if (current_.reason == Reason::none) {
    current_.reason = Reason::guard;
    current_.cause = observed(
        "vram-guard", "The guard ended it before the system ran out of memory.",
        sample.held ? fmt::format("{}; its processes hold {}", text, to_string(*sample.held))
                    : text,
        findings::sentence("Make it use less (a smaller micro-batch with accumulation), or change "
                           "how much is kept free: --guard SIZE, --guard off."));
  }
  say(text + (at_once ? ": ending them" : ": asking the command to end"));
  if (at_once) {
    kill();
  } else {
    terminate();
  }
}

void Supervisor::watch_hang(const event::Sample& sample) {
  const bool hangs =
      current_.hang.add(sample.output_bytes, sample.processor_ms, sample.gpu_ms, now_);
  if (!hangs || current_.pressure != Pressure::none) return;
  const std::string text = current_.hang.describe();
  current_.reason = Reason::hang;
  current_.cause =
      observed("hang", "The command stopped working without ending.", text,
               findings::sentence("See what it waits for: py-spy dump --pid PID, or gdb -p PID."));
  say(text + ": ending the command");
  terminate();
}

void Supervisor::watch_growth(const event::Sample& sample) {
  if (!current_.growth || !sample.memory || growth_told_) return;
  current_.growth->add(*sample.memory, now_);
  if (now_ - growth_looked_at_ < growth_every) return;
  growth_looked_at_ = now_;
  const auto growth = current_.growth->growth(now_);
  if (!growth || current_.pressure != Pressure::none) return;
  growth_told_ = true;
  const Bytes per_hour{static_cast<std::uint64_t>(growth->bytes_per_s * 3600)};
  say(
      fmt::format("memory has grown by {} an hour for {} and will reach the limit of {} in about "
                  "{}: let the command write a checkpoint before then, find out what it keeps, or "
                  "start it with a larger --memory",
                  to_string(per_hour), describe_time(growth->observed), to_string(*policy_.memory),
                  describe_time(growth->reaches_limit - now_)));
}

}  // namespace headroom::supervisor
