// SPDX-License-Identifier: Apache-2.0
#include "run/proof/prove.h"

#include <fmt/format.h>

#include <utility>

#include "findings/job_gpus.h"
#include "proof/device_pairing.h"
#include "proof/frameworks.h"
#include "run/proof/device_steps.h"
#include "run/proof/step_process.h"

namespace headroom::run {
namespace {

using proof::DeviceToTest;
using proof::StepResult;
using proof::TestedDevice;

TestedDevice make_device(const facts::Gpu& gpu, const std::string& framework) {
  return {gpu.pci, gpu.name, framework, {}};
}

// Why it sees none of the machine's GPUs: of PyTorch the machine's own cause, with this Python.
StepResult make_unseen(const StepHost& host, const std::string& framework, bool is_torch) {
  StepResult import;
  import.ok = false;
  import.detail = framework + " sees no GPU";
  const auto& cause = host.diagnosis.cause;
  if (cause && is_torch) {
    import.cause =
        proof::StepCause{cause->id, cause->confidence, cause->title, cause->evidence, cause->fix};
  }
  return import;
}

// One framework on all its devices.
class Proof {
 public:
  Proof(const StepHost& host, const proof::Framework& kind, proof::ProofReport& report)
      : host_(host), kind_(kind), report_(report), framework_(kind.name) {
    if (is_torch() && !host.facts.python.torch_folder.empty())
      framework_ = findings::torch_name(host.facts.python);
  }

  // `is_only`: the Python has no other, so that what it does not see is nowhere tested.
  Status run(bool is_only) {
    HEADROOM_TRY(EndedSteps asked, run_steps(host_, {"devices", std::string(kind_.id)}, "", true));
    if (!asked.version.empty()) framework_ = fmt::format("{} {}", kind_.name, asked.version);
    if (!asked.devices) {
      add_unloaded(std::move(asked.failed));
      return Done{};
    }
    const proof::Pairing pairing = proof::pair_devices(*asked.devices, host_.facts);
    if (pairing.devices.empty() && !pairing.unseen.empty()) {
      add_unseen(pairing, is_only);
      return Done{};
    }
    for (const DeviceToTest& device : pairing.devices) HEADROOM_CHECK(test(device));
    for (const facts::Gpu* gpu : pairing.unseen) {
      report_.remarks.push_back(fmt::format("{} at {} was not tested: {} does not see it",
                                            gpu->name, gpu->pci, framework_));
    }
    if (pairing.devices.empty()) return test_processor();
    return Done{};
  }

 private:
  bool is_torch() const { return kind_.id == "torch"; }

  Status test(const DeviceToTest& device) {
    HEADROOM_TRY(auto steps, test_device(host_, kind_, device));
    report_.devices.push_back({device.device, device.name, framework_, std::move(steps)});
    return Done{};
  }

  // A build for processors is often there for the sake of another package.
  void add_unseen(const proof::Pairing& pairing, bool is_only) {
    if (!is_torch() && !is_only) {
      report_.remarks.push_back(framework_ + " sees no GPU, and was not tested");
      return;
    }
    for (const facts::Gpu* gpu : pairing.unseen) {
      TestedDevice device = make_device(*gpu, framework_);
      device.steps =
          only_import(host_, make_unseen(host_, framework_, is_torch()), "it has no device");
      report_.devices.push_back(std::move(device));
    }
  }

  Status test_processor() {
    const bool has_none = host_.facts.gpus.empty() && host_.facts.other_gpus.empty();
    report_.remarks.push_back(
        has_none
            ? fmt::format("No GPU was tested: this machine shows none, and {} sees none",
                          kind_.name)
            : fmt::format("No GPU was tested: {} sees none, and none of this machine's is one that "
                          "ROCm can use as it is",
                          framework_));
    return test(proof::make_processor(host_.facts));
  }

  // On every GPU that was to be tested; where there is none, on the processor.
  void add_unloaded(std::optional<StepResult> failed) {
    StepResult import;
    import.detail = "it ended well, and did not tell its devices";
    if (failed) import = *std::move(failed);
    import.ok = false;
    std::vector<TestedDevice> devices;
    const auto gpus = findings::job_gpus(host_.facts);
    for (const facts::Gpu* gpu : gpus) devices.push_back(make_device(*gpu, framework_));
    if (gpus.empty()) devices.push_back({"cpu", "the processor", framework_, {}});
    for (TestedDevice& device : devices) {
      device.steps = only_import(host_, import, fmt::format("{} could not be loaded", kind_.name));
      report_.devices.push_back(std::move(device));
    }
  }

  const StepHost& host_;
  const proof::Framework& kind_;
  proof::ProofReport& report_;
  std::string framework_;
};

// Those that it says it has; PyTorch, too, where its files are there and it does not find them.
Result<std::vector<proof::Framework>> find_frameworks(const StepHost& host) {
  HEADROOM_TRY(EndedSteps asked, run_steps(host, {"frameworks"}, "", false));
  std::vector<std::string> told = asked.frameworks.value_or(std::vector<std::string>{});
  if (!host.facts.python.torch_folder.empty()) told.emplace_back("torch");
  std::vector<proof::Framework> found = proof::known_among(told);
  if (!found.empty()) return found;
  return Error{
      Errc::not_found,
      fmt::format("{}: expected PyTorch, JAX, TensorFlow or onnxruntime, which does the "
                  "steps, found none{}",
                  host.python, asked.failed ? " (" + asked.failed->detail + ")" : std::string()),
      "headroom test --python /path/to/venv, or headroom fix stack"};
}

}  // namespace

Result<proof::ProofReport> prove(const StepHost& host) {
  HEADROOM_TRY(const auto frameworks, find_frameworks(host));
  proof::ProofReport report;
  report.python = host.python;
  for (const proof::Framework& one : frameworks)
    HEADROOM_CHECK(Proof(host, one, report).run(frameworks.size() == 1));
  return report;
}

}  // namespace headroom::run
