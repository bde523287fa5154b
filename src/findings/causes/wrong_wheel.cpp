// SPDX-License-Identifier: Apache-2.0
// wrong-wheel: a build for CUDA or for the CPU on a machine with an AMD GPU. Its version says so
// ("+cu124", "+cpu"), or it looks for NVIDIA's driver and libraries.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>

#include "findings/causes/access.h"
#include "findings/causes/causes.h"
#include "findings/causes/failed_allocation.h"
#include "findings/causes/libraries.h"
#include "findings/causes/pip_index.h"
#include "findings/causes/plain_build.h"
#include "findings/scene_text.h"
#include "findings/stack_advice.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

struct Sign {
  const Observation* seen = nullptr;
  double confidence = 0;
};

void take(Sign& best, const Observation* seen, double confidence) {
  if (seen != nullptr && confidence > best.confidence) best = {seen, confidence};
}

// The build for CUDA that pip fetched, unless one for ROCm was installed after it.
const Observation* find_fetched(const logs::Observations& log) {
  const Observation* fetched = log.last("pip-fetches-cuda-torch");
  const Observation* installed = log.last("pip-installs-torch");
  if (fetched == nullptr || installed == nullptr) return fetched;
  const bool mended =
      is_before(*fetched, *installed) && installed->text.find("+rocm") != std::string::npos;
  return mended ? nullptr : fetched;
}

// What pip installed last, if it is a PyTorch that came with NVIDIA's libraries: a build for CUDA,
// whatever index was named beside PyPI.
const Observation* find_installed_for_cuda(const logs::Observations& log) {
  static const RE2 of_nvidia(R"(\bnvidia-(?:cublas|cudnn|cuda-\w+|nccl|cusparse|cufft)\b)");
  const Observation* installed = log.last("pip-installs-torch");
  if (installed == nullptr || installed->text.find("+rocm") != std::string::npos) return nullptr;
  // pip names what it fetches line by line, and a long list of what it installed may be cut short.
  const auto fetched = log.of("nvidia-packages");
  const bool came_along =
      std::any_of(fetched.begin(), fetched.end(),
                  [installed](const Observation* one) { return is_before(*one, *installed); });
  if (!came_along && !RE2::PartialMatch(installed->text, of_nvidia)) return nullptr;
  const auto& all = log.all();
  const bool is_gone = std::any_of(all.begin(), all.end(), [installed](const Observation& one) {
    const bool tells = one.id() == "pip-removes-torch" ||
                       (!one.value("torch_rocm").empty() && one.id() != "torch-wheel-index");
    return tells && is_before(*installed, one);
  });
  return is_gone ? nullptr : installed;
}

// The line that shows which CUDA the PyTorch in use was built with; builds for ROCm say None.
const Observation* find_cuda_printed(const logs::Observations& log) {
  static const RE2 version(R"(^\W{0,6}1\d\.\d\W{0,3}$)");
  for (const Observation* one : log.of("torch-cuda-printed")) {
    if (!one->value("cuda").empty()) return one;
    const auto& printed = one->output;
    if (!printed.empty() && RE2::PartialMatch(printed.front(), version)) return one;
  }
  return nullptr;
}

// A wheel for ROCm, as far as the log tells: an index named beside PyPI is only a hint.
bool is_rocm_build(const LogSubject& subject) {
  return subject.scene.torch_rocm.known() && find_installed_for_cuda(subject.log) == nullptr &&
         find_cuda_printed(subject.log) == nullptr;
}

// The image that a container was started from, as far as its name tells what it was built for.
struct Image {
  const Observation* started = nullptr;
  std::string name;
  bool for_rocm = false;
};

// Images of one name come in several builds: the one for ROCm says so in its name or its tag.
Image find_image(const logs::Observations& log) {
  static const RE2 known(
      R"(\s(?:docker\.io/)?((?:vllm/vllm-openai|lmsysorg/sglang|rocm/[\w.-]+|nvidia/cuda|nvcr\.io/\S+?|pytorch/pytorch|tensorflow/tensorflow)[\w.-]*(?::[\w.-]+)?)(?:\s|$))");
  Image image;
  for (const Observation* one : log.of("container-command")) {
    std::string name;
    if (!RE2::PartialMatch(one->text, known, &name)) continue;
    image = {one, name, name.find("rocm") != std::string::npos};
  }
  return image;
}

// A build that was asked and has no HIP. Of one that could not be imported nothing is known.
const Observation* find_without_hip(const logs::Observations& log) {
  const bool is_unknown = log.seen("torch-not-importable");
  for (const Observation* one : log.of("torch-hip-none")) {
    if (!is_unknown || one->text.find("used to build") == std::string::npos) return one;
  }
  return nullptr;
}

// Finds a line that shows that the program was built for CUDA.
Sign find_sign(const LogSubject& subject) {
  const logs::Observations& log = subject.log;
  const bool rocm_build = is_rocm_build(subject);
  Sign best;
  take(best, find_installed_for_cuda(log), torch_sees_none(subject) != nullptr ? 0.88 : 0.6);
  take(best, log.first("torch-without-cuda"), rocm_build ? 0.6 : 0.9);
  if (const auto* seen = log.first("no-nvidia-driver")) {
    // ROCm's builds say "No HIP GPUs" instead.
    const bool both = seen->text.find("No CUDA GPUs") != std::string::npos;
    take(best, seen, both ? (rocm_build ? 0.15 : 0.75) : (rocm_build ? 0.6 : 0.88));
  }
  for (const auto* seen : log.of("cuda-library-missing")) {
    // The container engine's hook for NVIDIA looks for it on the host, not the program.
    const bool of_engine = seen->text.find("nvidia-container") != std::string::npos;
    if (of_engine || !missing_library(*seen)) continue;
    // ONNX Runtime lists what its build has, which says more than a provider that does not load.
    const bool of_provider = seen->text.find("onnxruntime_providers_cuda") != std::string::npos;
    if (of_provider && log.seen("provider-missing")) continue;
    take(best, seen, rocm_build ? 0.75 : 0.82);
  }
  for (const auto* seen : log.of("shared-library-missing")) {
    const auto library = missing_library(*seen);
    if (library && is_of_torch_for_rocm(*library)) take(best, seen, rocm_build ? 0.5 : 0.85);
  }
  take(best, log.first("ptx-unsupported"), 0.75);
  take(best, log.first("cuda-toolkit-missing"), 0.6);
  for (const auto* seen : log.of("xformers-built-for")) {
    const bool cuda = seen->text.find("+cu") != std::string::npos;
    take(best, seen, cuda ? 0.75 : 0.5);
  }
  // vLLM also says so if amdsmi is missing.
  const Image image = find_image(log);
  const bool for_cuda = image.started != nullptr && !image.for_rocm;
  const bool excused = rocm_build || image.for_rocm || log.seen("rocm-platform-refused");
  if (for_cuda && !rocm_build) take(best, log.first("no-platform"), 0.85);
  take(best, log.first("no-platform"), excused ? 0.25 : 0.6);
  take(best, torch_sees_none(subject), rocm_build ? 0.1 : 0.4);
  if (!rocm_build) take(best, find_without_hip(log), 0.9);
  take(best, log.first("torch-cpu-printed"), 0.9);
  take(best, find_cuda_printed(log), 0.88);
  take(best, log.first("tensorflow-without-cuda"), 0.45);
  const PlainBuild plain = find_plain_build(subject);
  take(best, plain.seen, plain.confidence);
  take(best, log.first("nvidia-packages"), rocm_build ? 0.3 : 0.5);
  if (!rocm_build) take(best, find_fetched(log), 0.6);
  return best;
}

// Another install of pip's, which put a build without ROCm in place of one with it.
struct Replacement {
  const Observation* removed = nullptr;
  const Observation* installed = nullptr;
  std::string before, after;
  std::string requirer;  // The package that asked for it; empty if it is not told.
};

std::string first_value(const Observation& line, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (!line.value(key).empty()) return std::string(line.value(key));
  }
  return "";
}

std::optional<Replacement> find_replacement(const logs::Observations& log) {
  std::optional<Replacement> found;
  Replacement now;
  for (const Observation& one : log.all()) {
    if (one.id() == "pip-requires-torch") now.requirer = one.value("requirer");
    if (one.id() == "pip-removes-torch") {
      now.removed = &one;
      now.before = first_value(one, {"removed", "removed2", "removed3"});
    }
    if (one.id() != "pip-installs-torch") continue;
    now.installed = &one;
    now.after = first_value(one, {"installed", "installed2"});
    const bool had = now.before.find("rocm") != std::string::npos;
    const bool has = now.after.find("rocm") != std::string::npos;
    // A later install may have mended it.
    if (has) found.reset();
    if (now.removed != nullptr && had && !has) found = now;
    now = {};
  }
  return found;
}

Hypothesis make_replaced(const LogSubject& subject, const Replacement& replaced, bool failed) {
  const std::string who =
      replaced.requirer.empty() ? "a later install" : "installing " + replaced.requirer;
  Hypothesis wrong;
  wrong.confidence = failed ? 0.95 : 0.85;
  wrong.title = fmt::format("{0} replaced {2}, the ROCm build, with PyTorch {1} from PyPI", who,
                            replaced.after, replaced.before);
  wrong.title.front() = static_cast<char>(std::toupper(wrong.title.front()));
  wrong.reasons.push_back(
      replaced.requirer.empty()
          ? "PyPI has the CUDA builds, and pip installs them unless an index for ROCm is given."
          : fmt::format("{} requires a certain PyTorch, and pip installed it from PyPI, which has "
                        "the CUDA builds.",
                        replaced.requirer));
  wrong.evidence = {show(subject, *replaced.removed, "the ROCm build was removed"),
                    show(subject, *replaced.installed, "its replacement")};
  wrong.fix = {command(fmt::format("pip install --force-reinstall torch=={} --index-url {}rocm{}",
                                   replaced.before, subject.tables.torch_index,
                                   replaced.before.substr(replaced.before.find("rocm") + 4)))};
  if (!replaced.requirer.empty()) {
    wrong.fix.push_back(
        sentence(fmt::format("Install {0} without its dependencies, or use its build for ROCm: pip "
                             "install --no-deps {0}",
                             replaced.requirer)));
  }
  wrong.fix.push_back(sentence(
      "To keep it installed: pip freeze | grep -E '^(torch|triton|pytorch-triton)' > "
      "constraints.txt. Then install packages with pip install -c constraints.txt PACKAGE"));
  wrong.fix.push_back(
      command("python3 -c \"import torch; print(torch.version.hip)\"", "(must not be None)"));
  return wrong;
}

struct Build {
  std::string name;  // "cu124", "cpu"; empty: not told.
  std::optional<Evidence> evidence;
};

Build find_build(const LogSubject& subject) {
  Build build;
  if (const Observation* seen = subject.log.first("cuda-build")) {
    build.name = seen->value("build");
    build.evidence = show(subject, *seen, logs::describe(*seen));
  } else if (subject.scene.framework) {
    const TorchVersion stated = torch_in(*subject.scene.framework);
    if (!stated.cuda.empty()) build.name = "cu" + stated.cuda;
    if (stated.cpu) build.name = "cpu";
    if (!build.name.empty()) {
      build.evidence = show(subject.scene.framework, "the build's own name");
    }
  }
  return build;
}

// Nothing is to be installed in a container: another image is.
void advise_image(const LogSubject& subject, const Image& image, Hypothesis& wrong) {
  wrong.title = fmt::format("The image {} is built for CUDA", image.name);
  wrong.reasons = {
      "It looks for an NVIDIA GPU even if it is given an AMD GPU's nodes. An image cannot change "
      "what it was built for."};
  wrong.evidence.push_back(show(subject, *image.started, "the container was started from it"));
  const bool is_vllm = image.name.starts_with("vllm/");
  const bool is_sglang = image.name.starts_with("lmsysorg/");
  wrong.fix = {
      sentence(is_vllm ? "Start vllm/vllm-openai-rocm, or AMD's rocm/vllm, instead, with --device "
                         "/dev/kfd --device /dev/dri --group-add video"
               : is_sglang ? "Start a tag of lmsysorg/sglang that has \"rocm\" in its name instead"
                           : "Start an image that is built for ROCm instead, such as rocm/pytorch, "
                             "rocm/tensorflow or rocm/jax")};
}

void advise(const LogSubject& subject, bool add_on, Hypothesis& wrong) {
  if (add_on) {
    wrong.fix = {command("pip list | grep -iE 'torch|xformers|flash|onnxruntime|nvidia|cuda'",
                         "(find the build for CUDA)"),
                 sentence("Install that package's build for ROCm, or leave it out.")};
    return;
  }
  wrong.fix = {command("pip uninstall -y torch torchvision torchaudio")};
  const auto* target = subject.tables.target(subject.scene.gfx());
  auto steps = target != nullptr ? wheels_for(subject.tables, *target) : std::vector<Step>();
  if (steps.empty()) {
    steps = {command("pip install torch --index-url URL",
                     "(URL is the ROCm index given under \"Get started\" on pytorch.org)")};
  }
  wrong.fix.insert(wrong.fix.end(), steps.begin(), steps.end());
  wrong.fix.push_back(
      look("python3 -c \"import torch; print(torch.version.hip)\"", "(must not be None)"));
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  if (subject.scene.is_foreign()) return std::nullopt;
  for (auto* search : {find_wrong_index, find_older_index, find_index_beside_pypi}) {
    if (auto found = search(subject)) return found;
  }
  const Sign sign = find_sign(subject);
  if (const auto replaced = find_replacement(subject.log)) {
    return make_replaced(subject, *replaced, sign.seen != nullptr);
  }
  const Build build = find_build(subject);
  const bool failed = subject.log.first_with(knowledge::Role::failure) != nullptr;
  double confidence = sign.confidence;
  if (!build.name.empty() && !is_rocm_build(subject)) {
    confidence = sign.seen != nullptr ? std::max(0.93, confidence) : failed ? 0.6 : 0.5;
  }
  if (confidence <= 0) return std::nullopt;
  // Without a sign of an AMD GPU such a line may be from any machine.
  const bool amd = subject.scene.vendor && *subject.scene.vendor == Vendor::amd;
  Hypothesis wrong;
  wrong.confidence = amd ? confidence : std::min(confidence, 0.45);
  const bool add_on = is_rocm_build(subject);
  wrong.title = !build.name.empty() && !add_on
                    ? fmt::format("The installed PyTorch is a build for {}, not for ROCm",
                                  build.name == "cpu" ? "the CPU" : "CUDA (" + build.name + ")")
                : add_on ? "Beside the ROCm build of PyTorch, another package is a build for CUDA"
                         : "A build for CUDA or the CPU runs on a machine with an AMD GPU";
  wrong.reasons.emplace_back(
      "PyPI has the CUDA builds, and pip installs them unless an index for ROCm is given. Any "
      "later install may replace the ROCm build with one.");
  if (sign.seen != nullptr) {
    wrong.evidence.push_back(show(subject, *sign.seen, logs::describe(*sign.seen)));
  }
  if (build.evidence) wrong.evidence.push_back(*build.evidence);
  const Image image = find_image(subject.log);
  if (sign.seen != nullptr && is_plain_build(*sign.seen)) {
    advise_other_build(*sign.seen, wrong);
  } else if (image.started != nullptr && !image.for_rocm && !add_on) {
    advise_image(subject, image, wrong);
  } else {
    advise(subject, add_on, wrong);
  }
  wrong.alternatives = {
      {"driver-not-loaded", 0.05, "rocminfo | head"},
      {"app-bug", 0.05,
       "python3 -c \"import torch; print(torch.__version__, torch.version.hip)\""}};
  return wrong;
}

}  // namespace

constinit const CauseRule wrong_wheel_cause = {
    .id = "wrong-wheel",
    .meaning = "A build for CUDA or for the CPU is installed on a machine with an AMD GPU.",
    .why = "It cannot use the AMD GPU. It looks for NVIDIA's driver, or runs on the CPU.",
    .fix = "Remove it, and install the ROCm build from its own index.",
    .explains =
        "app-bug bitsandbytes-no-rocm crash-loop framework-bug missing-library "
        "driver-not-loaded backend-unavailable unsupported-option gpu-not-used",
    .next = &NextCommand::stack,
    .find = find,
};

}  // namespace headroom::findings
