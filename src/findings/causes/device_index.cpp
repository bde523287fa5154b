// SPDX-License-Identifier: Apache-2.0
// device-index: a job asks for a device by a number beyond what is visible, or the masks leave
// none. Masks apply one after the other: HIP numbers the devices that ROCr's mask leaves, from 0
// again.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "base/text.h"
#include "findings/causes/access.h"
#include "findings/causes/causes.h"
#include "findings/causes/failed_allocation.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Mask {
  const Observation* line = nullptr;
  std::vector<std::uint64_t> indices;  // Indices up to the first negative one, which ends the list.
  bool readable = true;                // False if the mask has UUIDs.
};

// What a line gives the variable; one line may set several masks, as a program's own list does.
std::optional<std::string> value_in(const Observation& line, std::string_view name) {
  if (line.value("mask") == name) return std::string(line.value("devices"));
  const RE2 assigned(fmt::format(
      R"(\b{}(?:["']\]?)?(?: ?= ?["']?|: ?["']|:)(-?\d+(?: ?, ?-?\d+)*|GPU-[0-9a-f]+(?:,GPU-[0-9a-f]+)*)(?:["'\s\]]|$))",
      name));
  std::string value;
  return RE2::PartialMatch(line.text, assigned, &value) ? std::optional(value) : std::nullopt;
}

// The last one, or the last one up to a failure if any was set before it: what was set later is of
// another run.
Mask last_mask(const LogSubject& subject, std::string_view name,
               const Observation* failed = nullptr) {
  Mask mask;
  std::string devices;
  for (const Observation* one : subject.log.of("visible-devices")) {
    const auto value = value_in(*one, name);
    if (!value) continue;
    const bool later = failed != nullptr && one->log == failed->log && one->line > failed->line;
    if (later && mask.line != nullptr && mask.line->log == failed->log) break;
    mask.line = one;
    devices = *value;
  }
  if (mask.line == nullptr) return mask;
  for (const std::string_view word : split(devices, ',')) {
    const auto index = parse_u64(trim(word));
    if (!index) {
      mask.readable = trim(word).empty() || trim(word).starts_with('-');
      break;
    }
    mask.indices.push_back(*index);
  }
  return mask;
}

// How many GPUs there are without masks, from rocminfo; 0 if not known.
std::size_t gpus_there(const LogSubject& subject) {
  return subject.log.of("agent-name").size();
}

// How many GPUs a container was given by single render nodes; 0 if it was given all, or none is
// named.
struct Given {
  std::size_t count = 0;
  const Observation* line = nullptr;
};

Given given_nodes(const LogSubject& subject) {
  static const RE2 node(R"(/dev/dri/(renderD\d+)\b)");
  static const RE2 all(R"(/dev/dri(?:[\s:"',]|$)|--privileged)");
  Given given;
  std::set<std::string> nodes;
  for (const Observation* line : subject.log.of("render-node-given")) {
    if (RE2::PartialMatch(line->text, all)) return {};
    re2::StringPiece rest(line->text);
    std::string name;
    while (RE2::FindAndConsume(&rest, node, &name)) nodes.insert(name);
    given.line = line;
  }
  given.count = nodes.size();
  return given;
}

// How many GPUs there are for a mask to choose from, and the line that limits them.
Given left_for(const LogSubject& subject, std::string_view name, const Mask& rocr) {
  const bool behind = name != "ROCR_VISIBLE_DEVICES" && rocr.line != nullptr && rocr.readable;
  if (behind) return {rocr.indices.size(), rocr.line};
  const Given given = given_nodes(subject);
  return given.count > 0 ? given : Given{gpus_there(subject), nullptr};
}

// Whether the masks alone leave no device.
bool masks_leave_none(const LogSubject& subject, Hypothesis& index) {
  const Observation* lost = gpu_not_seen(subject);
  if (lost == nullptr) lost = torch_sees_none(subject);
  if (lost == nullptr) lost = subject.log.first("bad-device-index");
  if (lost == nullptr) return false;
  const Mask rocr = last_mask(subject, "ROCR_VISIBLE_DEVICES", lost);
  for (const std::string_view name : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                      "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}) {
    const Mask mask = last_mask(subject, name, lost);
    if (mask.line == nullptr || !mask.readable) continue;
    const auto [left, limit] = left_for(subject, name, rocr);
    const bool behind = limit != nullptr && limit == rocr.line;
    const bool beyond = left > 0 && !mask.indices.empty() && mask.indices.front() >= left;
    if (!mask.indices.empty() && !beyond) continue;
    index.confidence = mask.indices.empty() ? 0.9 : behind ? 0.92 : 0.85;
    index.title =
        mask.indices.empty()
            ? fmt::format("{} is empty, which hides every GPU", name)
            : fmt::format("{}={} names a GPU that does not exist: {} visible", name,
                          mask.indices.front(), left == 1 ? "only number 0 is" : "fewer are");
    if (behind) {
      index.reasons.push_back(fmt::format(
          "ROCR_VISIBLE_DEVICES leaves {}, which {} numbers from 0 again; {} is beyond that.", left,
          name, mask.indices.empty() ? "nothing" : std::to_string(mask.indices.front())));
      if (rocr.line != mask.line) index.evidence.push_back(show(subject, *rocr.line));
    } else if (limit != nullptr) {
      index.confidence = std::max(index.confidence, 0.88);
      index.reasons.push_back(
          fmt::format("The container was given {} of the GPUs. Inside, they are numbered from 0 "
                      "again, whatever "
                      "their numbers on the host.",
                      left == 1 ? "one" : std::to_string(left)));
      index.evidence.push_back(show(subject, *limit, "what the container is given"));
    }
    index.evidence.push_back(show(subject, *mask.line, "the mask"));
    index.evidence.push_back(show(subject, *lost));
    index.fix = {behind ? sentence("Set only one of the two: unset ROCR_VISIBLE_DEVICES")
                        : command(fmt::format("unset {}", name))};
    return true;
  }
  return false;
}

// A mask that begins behind the first device, where HIP then finds none, on a machine of which one
// GPU is named: it has number 0.
std::optional<Hypothesis> find_first_left_out(const LogSubject& subject) {
  static const RE2 tried(R"((?i)\b(?:tr(?:y|ied|ying)|also|either|with and without|neither)\b)");
  const Observation* lost = subject.log.first("no-gpu-seen");
  const Scene& scene = subject.scene;
  if (lost == nullptr || scene.gpus.size() != 1 || gpus_there(subject) > 1) return std::nullopt;
  static const RE2 counted(
      R"((?i)\b(?:[2-9]|1\d) ?[x×]|\b[x×] ?[2-9]\b|\b(?:two|dual|both|four)\b)");
  if (RE2::PartialMatch(scene.gpus.front().source.text, counted)) return std::nullopt;
  for (const std::string_view name :
       {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
    const Mask mask = last_mask(subject, name);
    if (mask.line == nullptr || !mask.readable || mask.indices.empty()) continue;
    if (*std::min_element(mask.indices.begin(), mask.indices.end()) == 0) continue;
    Hypothesis index;
    index.confidence = RE2::PartialMatch(mask.line->text, tried) ? 0.35 : 0.75;
    index.title = fmt::format("{}={} leaves out the first GPU, and there may be no other", name,
                              mask.indices.front());
    index.reasons.emplace_back("Numbers begin at 0, and the only GPU that is named has that one.");
    index.evidence = {show(subject, *mask.line, "the mask"), show(subject, *lost)};
    index.fix = {command(fmt::format("unset {}", name)),
                 sentence("On Windows remove it from the system's environment variables.")};
    index.alternatives = {{"driver-not-loaded", 0.15, "the same without the mask"}};
    return index;
  }
  return std::nullopt;
}

// The number below "device_count()"; 0 if there is none.
std::uint64_t counted_below(const Observation& asked) {
  if (asked.text.find("device_count") == std::string::npos) return 0;
  for (const std::string& line : asked.output) {
    std::string_view answer = trim(line);
    if (answer.starts_with(">>>")) answer = trim(answer.substr(3));
    if (const auto number = parse_u64(answer)) return *number;
  }
  return 0;
}

// ROCr's mask leaves fewer devices than PyTorch counts, so that an index it takes for good fails.
std::optional<Hypothesis> find_counted_beyond(const LogSubject& subject) {
  const Mask rocr = last_mask(subject, "ROCR_VISIBLE_DEVICES");
  if (rocr.line == nullptr || !rocr.readable || rocr.indices.empty()) return std::nullopt;
  for (const Observation* asked : subject.log.of("availability-asked")) {
    if (counted_below(*asked) <= rocr.indices.size()) continue;
    Hypothesis index;
    index.confidence = 0.65;
    index.title = fmt::format("PyTorch counts {} devices, but ROCR_VISIBLE_DEVICES leaves {}",
                              counted_below(*asked), rocr.indices.size());
    index.reasons.emplace_back(
        "PyTorch gets the count from amdsmi, and in some releases amdsmi ignores this mask. A job "
        "then uses an index that the runtime does not have.");
    index.evidence = {show(subject, *asked), show(subject, *rocr.line, "the mask")};
    index.fix = {sentence("Use only HIP_VISIBLE_DEVICES as a mask: unset ROCR_VISIBLE_DEVICES"),
                 sentence("Or use a newer PyTorch, which respects the mask.")};
    index.alternatives = {{"framework-bug", 0.3, "the same with another release of PyTorch"}};
    return index;
  }
  return std::nullopt;
}

// Whether the call that failed only counts the devices, which takes no index: in its line, in
// another one that repeats the error, or in the lines before it. A terminal may have broken
// PyTorch's long warning into lines.
bool is_of_counting(const logs::Observations& log, const Observation& bad) {
  // A report's title may repeat the end of the message.
  for (const Observation* one : log.of("bad-device-index")) {
    if (one->text.find("hipGetDeviceCount") != std::string::npos) return true;
  }
  constexpr std::uint64_t lines_of_a_warning = 3;
  for (const Observation* one : log.of("no-gpu-seen")) {
    const bool near =
        one->log == bad.log && one->line < bad.line && bad.line - one->line <= lines_of_a_warning;
    if (near && one->text.find("hipGetDeviceCount") != std::string::npos) return true;
  }
  return false;
}

struct Count {
  std::uint64_t number = 0;
  const Observation* line = nullptr;
};

Count visible_count(const LogSubject& subject) {
  for (const std::string_view id : {"index-against-count", "bad-device-index", "device-count"}) {
    for (const Observation* one : subject.log.of(id)) {
      for (const std::string_view key : {"visible", "counted"}) {
        if (const auto number = parse_u64(one->value(key))) return {*number, one};
      }
    }
  }
  for (const std::string_view name :
       {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    const Mask mask = last_mask(subject, name);
    if (mask.line != nullptr && mask.readable) return {mask.indices.size(), mask.line};
  }
  return {};
}

Count asked_device(const LogSubject& subject) {
  Count asked;
  for (const std::string_view id : {"index-against-count", "bad-device-index", "asked-device"}) {
    for (const Observation* one : subject.log.of(id)) {
      const auto device = parse_u64(one->value("asked"));
      const auto count = parse_u64(one->value("asked_count"));
      const std::uint64_t highest = device ? *device : count && *count > 0 ? *count - 1 : 0;
      if ((device || count) && (asked.line == nullptr || highest > asked.number)) {
        asked = {highest, one};
      }
    }
    if (asked.line != nullptr) break;
  }
  return asked;
}

// Whether the GPU is taken for another vendor's by the wording of this very failure alone, and a
// mask is shown. The mask then explains the failure whoever made the GPU.
bool is_shown_on_any_vendor(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const Observation* bad = log.first("bad-device-index");
  const Observation* worded = log.first_of({"nvidia-failure", "cuda-worded"});
  if (bad == nullptr || worded == nullptr || !log.seen("visible-devices")) return false;
  const bool same_line = bad->log == worded->log && bad->line == worded->line;
  const bool told =
      log.any_of({"nvidia-words", "nvidia-told", "nvidia-runtime", "intel-words", "apple-words"});
  return same_line && !told && subject.scene.vendor.source().line == static_cast<int>(bad->line);
}

// Ray sets the mask of each worker to the GPUs that the worker asked for, and to nothing where it
// asked for none (docs.ray.io: accelerator support).
std::optional<Hypothesis> find_in_ray(const LogSubject& subject) {
  const Observation* worker = subject.log.first("ray-worker-told");
  const Observation* lost = gpu_not_seen(subject);
  if (lost == nullptr) lost = torch_sees_none(subject);
  if (worker == nullptr || lost == nullptr) return std::nullopt;
  if (subject.log.any_of({"kfd-absent", "kfd-refused", "module-not-loaded"})) return std::nullopt;
  Hypothesis index;
  index.confidence = 0.55;
  index.title = "A worker of Ray sees no GPU: Ray hides those that the worker did not ask for";
  index.reasons.emplace_back(
      "Ray gives each worker a mask with the GPUs that it asked for. Without num_gpus, or where "
      "Ray "
      "itself counts none, the mask is empty.");
  index.evidence = {show(subject, *lost), show(subject, *worker, "it runs in Ray")};
  index.fix = {sentence("Ask for it: @ray.remote(num_gpus=1), or use_gpu=True in the trainer's "
                        "ScalingConfig."),
               sentence_with("See what Ray counts; if it is none, start it with ray start "
                             "--num-gpus=N",
                             "ray status"),
               sentence("Or keep Ray from setting the mask: "
                        "RAY_EXPERIMENTAL_NOSET_HIP_VISIBLE_DEVICES=1")};
  index.alternatives = {{"device-permission", 0.2, "id, in the worker; ls -l /dev/kfd"}};
  return index;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  Hypothesis index;
  if (subject.scene.is_foreign() && !is_shown_on_any_vendor(subject)) return std::nullopt;
  if (masks_leave_none(subject, index)) {
    index.fix.push_back(look("rocminfo | grep -E 'Marketing|gfx'", "(lists the GPUs, from 0)"));
    return index;
  }
  if (auto ray = find_in_ray(subject)) return ray;
  const Observation* filtered = subject.log.first("ollama-device-filtered");
  const Observation* bad = subject.log.first("bad-device-index");
  if (bad == nullptr && (filtered == nullptr || !subject.log.seen("no-gpu-seen"))) {
    auto beyond = find_counted_beyond(subject);
    return beyond ? beyond : find_first_left_out(subject);
  }
  const Count visible = visible_count(subject), asked = asked_device(subject);
  const bool arithmetic = visible.line != nullptr && asked.line != nullptr &&
                          asked.number >= visible.number && bad != nullptr;
  index.confidence = arithmetic ? 0.95 : bad == nullptr ? 0.8 : 0.82;
  if (bad != nullptr && bad->text.find("hipErrorInvalidDevice") != std::string::npos) {
    // ROCm before 5.6 says so as well where it finds no device at all (ROCm/ROCm#2288).
    const bool counting = is_of_counting(subject.log, *bad);
    index.confidence = std::min(index.confidence, counting ? 0.3 : 0.5);
  }
  // Every machine with a GPU has a first one. Where that is refused, none is seen.
  const bool is_first = asked.line != nullptr && asked.number == 0 && visible.line == nullptr;
  if (is_first && !subject.log.seen("visible-devices")) {
    index.confidence = std::min(index.confidence, 0.4);
  }
  const auto failed = failed_allocation(subject);
  if (!arithmetic && bad != nullptr && failed && is_before(*failed->seen, *bad)) {
    // A job that ran out of memory had found its device, so the index failed in another run.
    index.confidence = std::min(index.confidence, confidence::possible);
  }
  constexpr double of_unknown_vendor = 0.65;
  if (subject.scene.is_foreign()) index.confidence = std::min(index.confidence, of_unknown_vendor);
  index.title = arithmetic
                    ? fmt::format("The job uses device {}, but {} visible", asked.number,
                                  visible.number == 1
                                      ? "only device 0 is"
                                      : fmt::format("{} devices, from 0, are", visible.number))
                : bad == nullptr ? "The mask hides the GPU from ollama"
                                 : "The job uses a GPU index that no visible device has";
  index.reasons.emplace_back(
      "Indices count the devices that the masks leave, from 0. With HIP_VISIBLE_DEVICES=1 the only "
      "device is cuda:0.");
  index.evidence.push_back(show(subject, bad != nullptr ? *bad : *filtered));
  for (const Observation* line : {visible.line, asked.line}) {
    if (line != nullptr && line != bad) index.evidence.push_back(show(subject, *line));
  }
  index.fix = {
      sentence("See what is visible: python3 -c 'import torch; print(torch.cuda.device_count())'; "
               "env | grep VISIBLE_DEVICES"),
      sentence("Use a device from 0 up to that number minus one, or extend the mask. The number of "
               "processes counts too (--nproc-per-node, --tensor-parallel-size)."),
      sentence("Set one mask only. Under Ray, set RAY_EXPERIMENTAL_NOSET_HIP_VISIBLE_DEVICES=1.")};
  return index;
}

}  // namespace

constinit const CauseRule device_index_cause = {
    .id = "device-index",
    .meaning = "The job uses a device number that the masks do not leave visible.",
    .why =
        "HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES hide GPUs and number "
        "the rest again, one mask after the other. A job that uses the machine's numbers picks a "
        "device that does not exist.",
    .fix = "Set one mask, and count from 0 within it.",
    .explains =
        "framework-bug app-bug device-permission kfd-not-passed backend-unavailable "
        "gpu-not-used",
    .any_vendor = true,
    .find = find,
};

}  // namespace headroom::findings
