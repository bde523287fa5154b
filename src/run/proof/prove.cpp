// SPDX-License-Identifier: Apache-2.0
#include "run/proof/prove.h"

#include <fmt/format.h>

#include <utility>

#include "findings/job_gpus.h"
#include "proof/device_pairing.h"
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

// Why PyTorch sees none of the machine's GPUs: the machine's own cause, with this Python.
StepResult make_unseen(const StepHost& host, const std::string& framework) {
  StepResult import;
  import.ok = false;
  import.detail = framework + " sees no GPU";
  const auto& cause = host.diagnosis.cause;
  if (cause) {
    import.cause =
        proof::StepCause{cause->id, cause->confidence, cause->title, cause->evidence, cause->fix};
  }
  return import;
}

class Proof {
 public:
  explicit Proof(const StepHost& host) : host_(host) {
    report_.python = host.python;
    framework_ = findings::torch_name(host.facts.python);
  }

  Result<proof::ProofReport> run() {
    HEADROOM_TRY(EndedSteps asked, run_steps(host_, {"devices", "torch"}, "", true));
    if (!asked.version.empty()) framework_ = "PyTorch " + asked.version;
    if (!asked.devices) {
      add_unloaded(std::move(asked.failed));
      return std::move(report_);
    }
    const proof::Pairing pairing = proof::pair_devices(*asked.devices, host_.facts);
    if (pairing.devices.empty() && !pairing.unseen.empty()) {
      for (const facts::Gpu* gpu : pairing.unseen) {
        TestedDevice device = make_device(*gpu, framework_);
        device.steps = only_import(host_, make_unseen(host_, framework_), "it has no device");
        report_.devices.push_back(std::move(device));
      }
      return std::move(report_);
    }
    for (const DeviceToTest& device : pairing.devices) HEADROOM_CHECK(test(device));
    for (const facts::Gpu* gpu : pairing.unseen) {
      report_.remarks.push_back(fmt::format("{} at {} was not tested: {} does not see it",
                                            gpu->name, gpu->pci, framework_));
    }
    if (pairing.devices.empty()) HEADROOM_CHECK(test_processor());
    return std::move(report_);
  }

 private:
  Status test(const DeviceToTest& device) {
    HEADROOM_TRY(auto steps, test_device(host_, device));
    report_.devices.push_back({device.device, device.name, framework_, std::move(steps)});
    return Done{};
  }

  Status test_processor() {
    report_.remarks.push_back(
        host_.facts.gpus.empty() && host_.facts.other_gpus.empty()
            ? "No GPU was tested: this machine shows none, and PyTorch sees none"
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
    const auto gpus = findings::job_gpus(host_.facts);
    for (const facts::Gpu* gpu : gpus) report_.devices.push_back(make_device(*gpu, framework_));
    if (gpus.empty()) report_.devices.push_back({"cpu", "the processor", framework_, {}});
    for (TestedDevice& device : report_.devices)
      device.steps = only_import(host_, import, "PyTorch could not be loaded");
  }

  const StepHost& host_;
  proof::ProofReport report_;
  std::string framework_;
};

}  // namespace

Result<proof::ProofReport> prove(const StepHost& host) {
  return Proof(host).run();
}

}  // namespace headroom::run
