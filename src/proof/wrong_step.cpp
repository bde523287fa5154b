// SPDX-License-Identifier: Apache-2.0
#include "proof/wrong_step.h"

#include <fmt/format.h>

#include <string>

namespace headroom::proof {
namespace {

using findings::look;
using findings::sentence;

// Of the makers' figures, which are peaks: consumer cards reach half of them with good kernels, and
// a chip that runs another's code or a power limit a fifth.
constexpr double least_share = 0.1;

StepCause make(std::string id, double confidence, std::string title, const StepResult& result) {
  StepCause cause;
  cause.id = std::move(id);
  cause.confidence = confidence;
  cause.title = std::move(title);
  cause.evidence = {{"the step " + result.name, 0, result.detail, "what it found"}};
  return cause;
}

// Of a trial.
std::optional<StepCause> cause_of_trial(std::string_view kind, const StepResult& result) {
  if (kind == "target") {
    StepCause cause =
        make("gfx-target-missing", 0.95, "this build has no code for the GPU", result);
    cause.fix = {findings::command("headroom fix stack", "(names a build that has it)")};
    return cause;
  }
  if (kind == "nan") {
    StepCause cause = make("wrong-answer", 0.6, "the loss is no number", result);
    cause.fix = {
        sentence("If every stack says so, the job's learning_rate or 16 bits are to blame; "
                 "if only this one does, do not trust what it computes.")};
    return cause;
  }
  if (kind == "grows") {
    StepCause cause =
        make("memory-growth", 0.8, "each step takes memory and does not give it back", result);
    cause.fix = {
        sentence("Nothing of this job outlives a step: try another release of the "
                 "framework or of its driver.")};
    return cause;
  }
  if (kind == "big") {
    StepCause cause = make("job-too-big", 0.95, "the job needs more memory than there is", result);
    cause.fix = {look("headroom plan JOB.toml", "(says what it takes, and which settings fit)")};
    return cause;
  }
  if (kind != "time") return std::nullopt;
  StepCause cause = make("time-limit", 1, "the time for its steps was over", result);
  cause.fix = {sentence("Fewer steps (--steps 3), or more time (--timeout 3600).")};
  return cause;
}

}  // namespace

std::optional<StepCause> cause_of_kind(std::string_view kind, const StepResult& result) {
  if (kind == "memory") {
    StepCause cause = make("hw-error", 0.8, "memory of the device changed by itself", result);
    cause.fix = {look("sudo dmesg | grep -iE 'ecc|ras|uncorrect'", "(does the driver say so too?)"),
                 sentence("Take overclocking back, test again, and test with another power supply. "
                          "If it stays, the card is defective.")};
    return cause;
  }
  if (kind == "unstable") {
    StepCause cause =
        make("hw-error", 0.8, "the device gave two answers to the same question", result);
    cause.fix = {
        sentence("Take overclocking and undervolting back. Check power cables and cooling, and "
                 "test again at a lower power limit: sudo rocm-smi --setpoweroverdrive WATTS"),
        sentence("If it stays, the card is defective: results computed on it cannot be trusted.")};
    return cause;
  }
  if (kind == "size") {
    StepCause cause = make("free-memory-misreported", 0.7,
                           "there is less memory than the driver and the framework say", result);
    cause.fix = {look("headroom check", "(what limits it, and who holds the rest)")};
    return cause;
  }
  if (kind == "lost") {
    StepCause cause =
        make("vram-orphaned", 0.7, "memory that was given back is not free again", result);
    cause.fix = {look("headroom reclaim", "(who holds it, and how to get it back)")};
    return cause;
  }
  // Of several devices together the cause is found beside the machine's facts (together.h).
  if (kind == "peer" || kind == "sum" || kind == "stuck") return std::nullopt;
  if (kind != "wrong") return cause_of_trial(kind, result);
  StepCause cause = make("wrong-answer", 0.9, "the device computes other results", result);
  cause.fix = {look("headroom check", "(an override, or code for another chip, would explain it)"),
               sentence("Do not trust what was computed on it. Test again with another release of "
                        "the framework.")};
  return cause;
}

void judge_speed(const knowledge::Card* card, StepResult& result) {
  const bool is_rate = result.name == "rate";
  if (!result.ok || !*result.ok || !result.figure || (!is_rate && result.name != "bandwidth"))
    return;
  const double peak = card == nullptr ? 0 : is_rate ? card->tflops16 : card->gb_s;
  if (peak <= 0) {
    result.detail += "; nothing known to compare it with";
    return;
  }
  const double share = *result.figure / peak;
  result.detail +=
      fmt::format("; {:.0f} % of the {:g} {} that the maker names", 100 * share, peak, result.unit);
  if (share >= least_share) return;
  result.ok = false;
  StepCause cause = make("slower", 0.8, "the card is far slower than it should be", result);
  cause.fix = {
      look("headroom check", "(PCIe link, power profile and overrides)"),
      sentence("Look at the clocks under load: cat /sys/class/drm/card*/device/pp_dpm_sclk")};
  result.cause = std::move(cause);
}

StepResult make_hung(std::string_view step, const Silence& silence) {
  const auto [seconds, on_gpu, has_ended, is_busy] = silence;
  StepResult result;
  result.name = std::string(step);
  result.ok = false;
  result.detail = fmt::format("it did not end in {} s; its process {}", seconds,
                              has_ended ? "was ended" : "cannot be ended");
  if (is_busy && !on_gpu) {
    result.detail += "; it computed all the while";
    result.cause = cause_of_trial("time", result);
    result.cause->title = "it is too slow for its time";
    return result;
  }
  StepCause cause = make(on_gpu ? "gpu-hang" : "hang", 0.6,
                         on_gpu ? "the GPU does not finish its work" : "it does not end", result);
  if (on_gpu) {
    if (!has_ended) {
      cause.fix.push_back(sentence("Reboot: a process that waits for the driver holds the GPU."));
    }
    cause.fix.insert(cause.fix.end(),
                     {look("sudo dmesg | grep -iE 'amdgpu.*(timeout|reset|fault|ras)'",
                           "(says when, and which ring or fault came first)"),
                      look("headroom check", "(kernel and firmware that are known to be bad)")});
  }
  result.cause = std::move(cause);
  return result;
}

}  // namespace headroom::proof
