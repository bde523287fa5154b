// SPDX-License-Identifier: Apache-2.0
// The gate of deploy on whole machines: what is refused before anything is touched, and why.
#include "deploy/gate.h"

#include <gtest/gtest.h>

#include "deploy/image_claim.h"
#include "machine/files.h"
#include "probe/probe.h"
#include "support/scratch.h"
#include "support/test_machines.h"

namespace headroom::deploy {
namespace {

const knowledge::GpuTables& tables() {
  static const knowledge::GpuTables loaded = *knowledge::load_gpu_tables();
  return loaded;
}

struct Machine {
  facts::Facts facts;
  findings::Diagnosis diagnosis;
};

Machine machine(const std::string& name) {
  const testing::Scratch scratch;
  testing::expand_named(name, scratch.path());
  const machine::Files files = *machine::Files::open(scratch.string());
  Machine result;
  result.facts = *probe::probe(files, tables());
  result.diagnosis = findings::diagnose({result.facts, tables()});
  return result;
}

ServiceSpec gpu_spec() {
  ServiceSpec spec;
  spec.service.name = "photos";
  spec.service.kind = ServiceKind::quadlet;
  spec.expect.gpu = true;
  return spec;
}

Settings gpu_settings() {
  Settings settings;
  settings.image = "ghcr.io/immich-app/immich-machine-learning:release-rocm";
  settings.devices = {"/dev/kfd", "/dev/dri"};
  return settings;
}

GateInput input_of(const Machine& on, const ServiceSpec& spec) {
  return {spec, on.facts, on.diagnosis, tables(), gpu_settings(), {}, {}, {}, {}, {}, {}, {}, {}};
}

std::string refusal_of(const GateInput& input) {
  const Gate gate = judge_gate(input);
  const GateCheck* refusal = gate.refusal();
  return refusal == nullptr ? "" : refusal->cause ? refusal->cause->id : "without a cause";
}

TEST(DeployGate, the_incidents_machine_is_refused) {
  const Machine apu = machine("apu-5600g");
  const ServiceSpec spec = gpu_spec();
  EXPECT_EQ(refusal_of(input_of(apu, spec)), "gpu-unsupported");
  ServiceSpec on_cpu = spec;
  on_cpu.expect.gpu = false;
  // An image for ROCm, or its devices, are refused whatever the file expects.
  GateInput input = input_of(apu, on_cpu);
  EXPECT_EQ(refusal_of(input), "gpu-unsupported");
  input.candidate->image = "ghcr.io/immich-app/immich-machine-learning:release";
  EXPECT_EQ(refusal_of(input), "gpu-unsupported");
  input.candidate->devices.clear();
  EXPECT_EQ(refusal_of(input), "");
}

TEST(DeployGate, without_an_amd_gpu_it_cannot_be_used) {
  const ServiceSpec spec = gpu_spec();
  EXPECT_EQ(refusal_of(input_of(machine("no-gpu"), spec)), "gpu-not-used");
  EXPECT_EQ(refusal_of(input_of(machine("nvidia-only"), spec)), "gpu-not-used");
}

TEST(DeployGate, a_suited_card_passes_beside_an_apu) {
  const ServiceSpec spec = gpu_spec();
  EXPECT_EQ(refusal_of(input_of(machine("igpu-beside-card"), spec)), "");
}

TEST(DeployGate, a_container_without_the_devices_is_refused) {
  const Machine card = machine("igpu-beside-card");
  const ServiceSpec spec = gpu_spec();
  GateInput input = input_of(card, spec);
  input.candidate->devices = {"/dev/dri/renderD128:/dev/dri/renderD128"};
  EXPECT_EQ(refusal_of(input), "kfd-not-passed");
  input.candidate->devices.push_back("/dev/kfd");
  EXPECT_EQ(refusal_of(input), "");
  input.devices = {{"/dev/kfd", false, "user photos is not in group render"}};
  EXPECT_EQ(refusal_of(input), "device-permission");
}

TEST(DeployGate, memory_and_disk_that_do_not_suffice_are_refused) {
  const Machine card = machine("igpu-beside-card");
  ServiceSpec spec = gpu_spec();
  spec.expect.memory = 6_GiB;
  GateInput input = input_of(card, spec);
  EXPECT_EQ(refusal_of(input), "");
  input.memory_limit = 4_GiB;
  EXPECT_EQ(refusal_of(input), "cgroup-memory-limit");
  input.candidate->memory = 8_GiB;  // As the new file says.
  EXPECT_EQ(refusal_of(input), "");
  input.rooms = {{"/var/lib", 1_MiB, 2_MiB}};
  EXPECT_EQ(refusal_of(input), "disk-full");
  spec.expect.memory = Bytes{std::uint64_t{1} << 50U};
  input.candidate->memory.reset();
  input.memory_limit.reset();
  EXPECT_EQ(refusal_of(input), "job-too-big");
}

TEST(DeployGate, a_device_that_is_not_there_is_refused_without_a_gpu_too) {
  const Machine apu = machine("apu-5600g");
  ServiceSpec spec = gpu_spec();
  spec.expect.gpu = false;
  GateInput input = input_of(apu, spec);
  input.candidate.reset();
  input.missing_devices = {"/dev/apex_0"};
  EXPECT_EQ(refusal_of(input), "device-missing");
}

TEST(DeployGate, devices_may_come_from_a_base_that_could_not_be_read) {
  const Machine card = machine("igpu-beside-card");
  const ServiceSpec spec = gpu_spec();
  GateInput input = input_of(card, spec);
  input.candidate->devices.clear();
  EXPECT_EQ(refusal_of(input), "kfd-not-passed");
  input.unread_bases = {"hwaccel.yml (extends)"};
  EXPECT_EQ(refusal_of(input), "");
}

TEST(DeployGate, an_image_for_something_else_is_refused) {
  const Machine card = machine("igpu-beside-card");
  const ServiceSpec spec = gpu_spec();
  GateInput input = input_of(card, spec);
  const std::vector<std::pair<std::string, std::string>> images = {
      {"pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", "wrong-wheel"},
      {"ollama/ollama:rocm", ""},
      {"rocm/pytorch:rocm6.4_ubuntu22.04_py3.10_pytorch_release_2.6.0", ""},
      {"example/ml:cpu", "wrong-wheel"},
      {"example/ml:gfx900", "gfx-target-missing"},
      {"localhost:5000/ml", ""},
  };
  for (const auto& [image, id] : images) {
    input.candidate->image = image;
    EXPECT_EQ(refusal_of(input), id) << image;
  }
}

TEST(ImageClaim, the_tag_without_rocm_is_what_projects_usually_name_their_cpu_build) {
  EXPECT_EQ(image_without_rocm("ghcr.io/photos/ml:v1.2-rocm"), "ghcr.io/photos/ml:v1.2");
  EXPECT_EQ(image_without_rocm("vllm:rocm6.3-latest"), "vllm:latest");
  EXPECT_EQ(image_without_rocm("ollama/ollama:rocm"), "");
  EXPECT_EQ(image_without_rocm("rocm/pytorch"), "");
  EXPECT_EQ(image_without_rocm("host:5000/rocm"), "");
  EXPECT_EQ(image_without_rocm("photos/ml:v1-rocm@sha256:12"), "");
  EXPECT_EQ(image_without_rocm(":rocm-"), "");
}

TEST(ImageClaim, the_name_tells_versions_where_it_has_them) {
  const ImageClaim claim = parse_image_claim(
      "rocm/pytorch:rocm6.2.1_ubuntu22.04_py3.10_pytorch_release_2.3.0@sha256:00");
  EXPECT_EQ(claim.rocm, "6.2.1");
  EXPECT_EQ(claim.torch, "2.3.0");
  EXPECT_FALSE(claim.cuda || claim.cpu);
  EXPECT_EQ(parse_image_claim("registry.cpu.example:5000/web:1.2"), ImageClaim{});
}

}  // namespace
}  // namespace headroom::deploy
