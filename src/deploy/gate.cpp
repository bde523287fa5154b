// SPDX-License-Identifier: Apache-2.0
#include "deploy/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "deploy/image_claim.h"

namespace headroom::deploy {
namespace {

using findings::Cause;
using findings::sentence;
using Answer = GateCheck::Answer;

GateCheck passed(std::string name, std::string says) {
  return {std::move(name), Answer::passed, std::move(says), std::nullopt};
}

GateCheck unknown(std::string name, std::string says) {
  return {std::move(name), Answer::unknown, std::move(says), std::nullopt};
}

GateCheck refused(std::string name, Cause cause) {
  std::string says = cause.title;
  return {std::move(name), Answer::refused, std::move(says), std::move(cause)};
}

Cause make_cause(std::string id, std::string title, std::string reason, findings::Step fix) {
  Cause cause;
  cause.id = std::move(id);
  cause.title = std::move(title);
  cause.confidence = 0.95;
  if (!reason.empty()) cause.reasons.push_back(std::move(reason));
  cause.evidence = {{"computed", 0, cause.title, ""}};
  cause.fix.push_back(std::move(fix));
  return cause;
}

// ---- the GPU ----

Cause no_gpu(const GateInput& input) {
  Cause cause =
      make_cause("gpu-not-used", "There is no AMD GPU on this machine",
                 input.spec.expect.gpu ? "SERVICE.toml says expect.gpu = true"
                                       : "the service is given an image or devices for ROCm",
                 findings::command("headroom check"));
  for (const facts::OtherGpu& other : input.facts.other_gpus) {
    cause.reasons.push_back("the GPU is " + other.name + ", which ROCm does not support");
  }
  return cause;
}

// The best of the GPUs decides: a machine with one that is suited is suited.
const findings::Suitability* best_of(const findings::Diagnosis& diagnosis) {
  const findings::Suitability* best = nullptr;
  for (const auto& one : diagnosis.suitability) {
    if (one && (best == nullptr || one->level < best->level)) best = &*one;
  }
  return best;
}

Cause unsuited(const findings::Suitability& suitability) {
  Cause cause = make_cause("gpu-unsupported", suitability.summary, "",
                           sentence("Leave the service on the CPU."));
  cause.reasons = suitability.reasons;
  cause.evidence = suitability.evidence;
  cause.fix = suitability.instead;
  return cause;
}

// A service that is given an image for ROCm or its devices uses the GPU, whatever expect.gpu says:
// it would start, look healthy, and fail at its first model.
bool uses_rocm(const GateInput& input) {
  return input.candidate &&
         (is_for_rocm(*input.candidate) || is_given(*input.candidate, "/dev/kfd"));
}

// What makes a service ask for a GPU that it cannot use, before what to use instead.
Cause saying_what_asks(Cause cause, const GateInput& input) {
  if (!input.candidate || !uses_rocm(input)) return cause;
  const bool by_image = is_for_rocm(*input.candidate);
  const bool by_devices = is_given(*input.candidate, "/dev/kfd");
  std::string_view text =
      "Its image is a build for ROCm: set the build for the CPU, usually the tag without rocm.";
  if (by_devices) {
    text = by_image ? "Its image is a build for ROCm, and it is given /dev/kfd: set the build for "
                      "the CPU, and remove the devices, or the key extends that brings them."
                    : "Its image does not ask for ROCm, but it is given /dev/kfd: remove that from "
                      "its devices, or the key extends that brings it.";
  }
  cause.fix.insert(cause.fix.begin(), sentence(std::string(text)));
  return cause;
}

GateCheck check_gpu(const GateInput& input) {
  const findings::Diagnosis& diagnosis = input.diagnosis;
  using findings::Verdict;
  if (diagnosis.verdict == Verdict::no_gpu) return refused("GPU", no_gpu(input));
  const bool bad = diagnosis.verdict == Verdict::unsuitable || diagnosis.verdict == Verdict::broken;
  if (bad && diagnosis.cause) return refused("GPU", saying_what_asks(*diagnosis.cause, input));
  const findings::Suitability* best = best_of(diagnosis);
  if (best != nullptr && best->level == findings::Level::no) {
    return refused("GPU", saying_what_asks(unsuited(*best), input));
  }
  if (best == nullptr || diagnosis.verdict == Verdict::unknown) {
    return unknown(
        "GPU", "headroom does not know whether the GPU is suitable; the smoke test will show it");
  }
  return passed("GPU", best->summary);
}

// ---- memory ----

std::optional<Bytes> needed_host(const GateInput& input) {
  return input.spec.expect.memory ? input.spec.expect.memory : input.predicted_host;
}

std::optional<GateCheck> check_limit(const GateInput& input, Bytes needed) {
  auto limit = input.candidate ? input.candidate->memory : std::nullopt;
  if (!limit) limit = input.memory_limit;
  if (!limit || *limit >= needed) return std::nullopt;
  return refused(
      "memory",
      make_cause("cgroup-memory-limit",
                 fmt::format("The service's memory limit is {}, but it is expected to need {}",
                             to_string(*limit), to_string(needed)),
                 "the kernel would kill it when it loads its models",
                 sentence("Raise the limit: set = { memory = … } in a [[change]]")));
}

GateCheck check_memory(const GateInput& input) {
  const auto needed = needed_host(input);
  if (!needed) {
    return unknown("memory",
                   "SERVICE.toml does not say how much it needs; [expect] memory = \"8GiB\" does");
  }
  if (auto refusal = check_limit(input, *needed)) return *refusal;
  const auto& available = input.facts.machine.memory.available;
  if (!available) return unknown("memory", "headroom does not know how much memory is free");
  const Bytes free = *available + input.present_use.value_or(Bytes{});
  if (free < *needed) {
    return refused(
        "memory",
        make_cause("job-too-big",
                   fmt::format("{} of memory is free for it, but it is expected to need {}",
                               to_string(free), to_string(*needed)),
                   "this includes what the service holds now",
                   findings::command("headroom check")));
  }
  return passed("memory",
                fmt::format("{} is free, {} is expected", to_string(free), to_string(*needed)));
}

GateCheck check_device_memory(const GateInput& input) {
  const Bytes needed = *input.predicted_device;
  std::optional<Bytes> largest;
  for (const facts::Gpu& gpu : input.facts.gpus) {
    const facts::Rung* binding = gpu.ladder.binding();
    if (binding != nullptr && binding->limit)
      largest = std::max(largest.value_or(Bytes{}), *binding->limit);
  }
  if (!largest)
    return unknown("GPU memory", "headroom does not know how much memory the GPU offers");
  if (*largest >= needed) {
    return passed("GPU memory", fmt::format("{} is available, {} is predicted", to_string(*largest),
                                            to_string(needed)));
  }
  return refused("GPU memory",
                 make_cause("job-too-big",
                            fmt::format("The GPU offers at most {}, but {} is predicted",
                                        to_string(*largest), to_string(needed)),
                            "by the plan of " + input.spec.expect.job.value_or("the job"),
                            findings::command("headroom check")));
}

// ---- disk, devices, stack ----

GateCheck check_disk(const GateInput& input) {
  for (const Room& room : input.rooms) {
    if (!room.free || *room.free >= room.needed) continue;
    return refused("disk", make_cause("disk-full",
                                      fmt::format("{} has {} free, but {} is needed", room.path,
                                                  to_string(*room.free), to_string(room.needed)),
                                      "", findings::command("df -h " + room.path)));
  }
  const bool all_known = std::all_of(input.rooms.begin(), input.rooms.end(),
                                     [](const Room& room) { return room.free.has_value(); });
  if (!all_known)
    return unknown("disk", "headroom does not know how much disk space is free everywhere");
  return passed("disk", "there is enough space");
}

GateCheck check_given_devices(const GateInput& input) {
  const std::string& device = input.missing_devices.front();
  return refused(
      "devices",
      make_cause(
          "device-missing",
          fmt::format("The service should get {}, but this machine does not have it", device),
          "a container does not start if one of its devices does not exist",
          sentence("Remove it from the service's devices, or load the driver that creates it.")));
}

// Containers see the devices that they are given; units see all, unless a policy closes them.
GateCheck check_devices(const GateInput& input) {
  const bool in_container = input.spec.service.kind == ServiceKind::quadlet ||
                            input.spec.service.kind == ServiceKind::compose;
  if (in_container && input.candidate) {
    for (const std::string_view wanted : {"/dev/kfd", "/dev/dri"}) {
      if (is_given(*input.candidate, wanted)) continue;
      if (!input.unread_bases.empty()) {
        return unknown("devices", fmt::format("the file does not give it {}; headroom could not "
                                              "read what it builds on: {}",
                                              wanted, input.unread_bases.front()));
      }
      return refused(
          "devices",
          make_cause(
              "kfd-not-passed", fmt::format("The container is not given {}", wanted),
              "ROCm opens /dev/kfd and the render nodes below /dev/dri",
              sentence("Add set = { devices = [\"/dev/kfd\", \"/dev/dri\"] } to a [[change]].")));
    }
  }
  bool all_known = true;
  for (const DeviceAccess& access : input.devices) {
    all_known = all_known && access.may_open.has_value();
    if (access.may_open.value_or(true)) continue;
    return refused(
        "devices",
        make_cause("device-permission", "The service may not open " + access.device, access.why,
                   sentence("Add the device's group: set = { groups = [\"render\"] }")));
  }
  if (!all_known)
    return unknown("devices",
                   "headroom does not know whether the service may open the GPU's devices");
  return passed("devices", "the service may use the GPU's devices");
}

}  // namespace

const GateCheck* Gate::refusal() const {
  const auto found = std::find_if(checks.begin(), checks.end(), [](const GateCheck& check) {
    return check.answer == Answer::refused;
  });
  return found == checks.end() ? nullptr : &*found;
}

Gate judge_gate(const GateInput& input) {
  Gate gate;
  const bool gpu = input.spec.expect.gpu || uses_rocm(input);
  if (gpu) gate.checks.push_back(check_gpu(input));
  gate.checks.push_back(check_memory(input));
  if (input.predicted_device) gate.checks.push_back(check_device_memory(input));
  gate.checks.push_back(check_disk(input));
  if (!input.missing_devices.empty()) gate.checks.push_back(check_given_devices(input));
  if (!gpu) return gate;
  gate.checks.push_back(check_devices(input));
  if (input.candidate && input.candidate->image) {
    gate.checks.push_back(check_image(*input.candidate->image, input.facts, input.tables));
  }
  return gate;
}

}  // namespace headroom::deploy
