// SPDX-License-Identifier: Apache-2.0
// The causes that keep a job from the GPU: permission, containers, the driver, the slot, the chip,
// the kernel, and which device is taken.
#include <gmock/gmock.h>

#include "findings/causes/causes.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using ::testing::Contains;
using testing::diagnose;
using ::testing::HasSubstr;

std::string evidence_of(const LogDiagnosis& diagnosis) {
  std::string all;
  for (const Evidence& one : diagnosis.cause.evidence) all += one.text + "\n";
  return all;
}

constexpr std::string_view amd = R"({"vendor": "AMD"})";

// ------------------------------------------------------------------ device-permission

TEST(DevicePermission, a_refused_node_is_named_with_its_group) {
  const auto found = diagnose(
      "ROCk module is loaded\n"
      "Unable to open /dev/kfd read-write: Permission denied\n"
      "ada is not member of \"render\" group, the default DRM access group.\n");
  EXPECT_EQ(found.cause.id, "device-permission");
  EXPECT_GE(found.cause.confidence, 0.9);
  EXPECT_THAT(found.cause.fix, Contains(HasSubstr("usermod -aG render")));
}

TEST(DevicePermission, pythons_own_wording_is_the_same) {
  EXPECT_EQ(diagnose("PermissionError: [Errno 13] Permission denied: '/dev/kfd'\n").cause.id,
            "device-permission");
}

TEST(DevicePermission, the_groups_prove_it_without_a_message) {
  const auto found = diagnose(
      "$ python3 -c 'import torch; print(torch.cuda.is_available())'\n"
      "RuntimeError: No HIP GPUs are available\n"
      "$ ls -l /dev/kfd\n"
      "crw-rw---- 1 root render 235, 0 May  2 08:12 /dev/kfd\n"
      "$ id\n"
      "uid=1000(ada) gid=1000(ada) groups=1000(ada),27(sudo),44(video)\n");
  EXPECT_EQ(found.cause.id, "device-permission");
  EXPECT_GE(found.cause.confidence, 0.9);
  EXPECT_THAT(found.cause.title, HasSubstr("render"));
}

TEST(DevicePermission, a_member_of_the_group_is_not_blamed) {
  const auto found = diagnose(
      "RuntimeError: No HIP GPUs are available\n"
      "crw-rw---- 1 root render 235, 0 May  2 08:12 /dev/kfd\n"
      "$ groups\n"
      "ada sudo video render\n");
  EXPECT_NE(found.cause.id, "device-permission");
}

TEST(DevicePermission, a_rootless_container_is_told_of_its_mapping) {
  const auto found = diagnose(
      "$ podman exec -it llm rocminfo\n"
      "ROCk module version 6.10.5 is loaded\n"
      "Unable to open /dev/kfd read-write: Permission denied\n"
      "root is not member of \"nogroup\" group, the default DRM access group.\n");
  EXPECT_EQ(found.cause.id, "device-permission");
  EXPECT_THAT(found.cause.title, HasSubstr("rootless"));
  EXPECT_THAT(found.cause.fix, Contains(HasSubstr("keep-groups")));
}

TEST(DevicePermission, that_no_gpu_is_seen_is_not_enough) {
  const auto found = diagnose("RuntimeError: No HIP GPUs are available\n", amd);
  EXPECT_EQ(found.cause.id, "insufficient-evidence");
  EXPECT_LE(confidence_of(found, "device-permission"), 0.4);
}

// ------------------------------------------------------------------ kfd-not-passed

TEST(KfdNotPassed, a_missing_node_inside_a_container) {
  const auto found = diagnose(
      "$ docker exec comfy rocminfo\n"
      "ROCk module is loaded\n"
      "Unable to open /dev/kfd read-write: No such file or directory\n");
  EXPECT_EQ(found.cause.id, "kfd-not-passed");
  EXPECT_GE(found.cause.confidence, 0.85);
}

TEST(KfdNotPassed, ollamas_own_hint_is_believed) {
  EXPECT_EQ(diagnose("level=ERROR source=amd_linux.go:364 msg=\"amdgpu devices detected but "
                     "permission problems block access: kfd driver not loaded.  If running in a "
                     "container, remember to include '--device /dev/kfd --device /dev/dri'\"\n",
                     R"({"vendor": "AMD", "container": "docker"})")
                .cause.id,
            "kfd-not-passed");
}

TEST(KfdNotPassed, a_run_command_without_the_device) {
  const auto found = diagnose(
      "$ docker run --rm -it \\\n"
      "    --device /dev/dri \\\n"
      "    rocm/pytorch python3 -c 'import torch; torch.zeros(1).cuda()'\n"
      "RuntimeError: No HIP GPUs are available\n");
  EXPECT_EQ(found.cause.id, "kfd-not-passed");
  EXPECT_THAT(found.cause.reasons, Contains(HasSubstr("/dev/dri alone")));
}

TEST(KfdNotPassed, a_run_command_that_passes_it_is_not_blamed) {
  const auto found = diagnose(
      "$ docker run --rm -it \\\n"
      "    --device=/dev/dri \\\n"
      "    --device=/dev/kfd rocm/pytorch rocminfo\n"
      "Unable to open /dev/kfd read-write: Permission denied\n");
  EXPECT_EQ(found.cause.id, "device-permission");
  EXPECT_LT(confidence_of(found, "kfd-not-passed"), 0.35);
}

TEST(KfdNotPassed, a_listing_of_dev_with_kfd_says_nothing) {
  const auto found = diagnose(
      "$ apptainer exec --rocm --contain app.sif ls /dev\n"
      "dri  full  kfd  null  random  zero\n");
  EXPECT_NE(found.cause.id, "kfd-not-passed");
}

// ------------------------------------------------------------------ host-without-kfd

constexpr std::string_view no_device =
    "docker: Error response from daemon: error gathering device information while adding custom "
    "device \"/dev/kfd\": no such file or directory.\n";

TEST(HostWithoutKfd, windows_has_none) {
  const auto found =
      diagnose(std::string("PS C:\\src> docker run --device=/dev/kfd rocm/pytorch\n") +
               std::string(no_device));
  EXPECT_EQ(found.cause.id, "host-without-kfd");
  EXPECT_GE(found.cause.confidence, 0.9);
}

TEST(HostWithoutKfd, a_host_with_the_node_means_another_engine) {
  const auto found = diagnose(std::string(no_device) +
                              "$ ls -l /dev/kfd\ncrw-rw---- 1 root render 235, 0 Mai 2 08:12 "
                              "/dev/kfd\n");
  EXPECT_EQ(found.cause.id, "host-without-kfd");
  EXPECT_THAT(found.cause.fix, Contains(HasSubstr("docker context use default")));
}

TEST(HostWithoutKfd, a_bare_message_leaves_room_for_a_missing_driver) {
  const auto found = diagnose(no_device, R"({"vendor": "AMD", "distro": "Ubuntu 24.04"})");
  EXPECT_EQ(found.cause.id, "host-without-kfd");
  EXPECT_LT(found.cause.confidence, 0.7);
  EXPECT_GT(confidence_of(found, "driver-not-loaded"), 0.2);
}

TEST(HostWithoutKfd, wsl_without_the_module) {
  EXPECT_EQ(diagnose("$ uname -r\n5.15.153.1-microsoft-standard-WSL2\n$ rocminfo\n"
                     "ROCk module is NOT loaded, possibly no GPU devices\n")
                .cause.id,
            "host-without-kfd");
}

// ------------------------------------------------------------------ driver-not-loaded

TEST(DriverNotLoaded, secure_boot_refuses_the_key) {
  const auto found = diagnose(
      "$ sudo modprobe amdgpu\n"
      "modprobe: ERROR: could not insert 'amdgpu': Key was rejected by service\n");
  EXPECT_EQ(found.cause.id, "driver-not-loaded");
  EXPECT_GE(found.cause.confidence, 0.9);
  EXPECT_THAT(found.cause.title, HasSubstr("Secure Boot"));
}

TEST(DriverNotLoaded, a_dkms_build_names_its_kernel) {
  const auto found = diagnose(
      "Building module(s)....(bad exit status: 2)\n"
      "Error! Bad return status for module build on kernel: 6.11.0-19-generic (x86_64)\n"
      "Consult /var/lib/dkms/amdgpu/6.8.5-2041575.24.04/build/make.log for more information.\n");
  EXPECT_EQ(found.cause.id, "driver-not-loaded");
  EXPECT_THAT(found.cause.title, HasSubstr("6.11.0-19-generic"));
}

TEST(DriverNotLoaded, a_card_given_to_a_virtual_machine) {
  const auto found = diagnose(
      "03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 "
      "[Radeon RX 7900 XT/7900 XTX] [1002:744c] (rev c8)\n"
      "\tSubsystem: Sapphire Technology Limited Device [1da2:e471]\n"
      "\tKernel driver in use: vfio-pci\n"
      "\tKernel modules: amdgpu\n"
      "$ rocminfo\nROCk module is NOT loaded, possibly no GPU devices\n");
  EXPECT_EQ(found.cause.id, "driver-not-loaded");
  EXPECT_THAT(found.cause.title, HasSubstr("vfio-pci"));
}

TEST(DriverNotLoaded, an_option_forbids_it) {
  EXPECT_EQ(diagnose("BOOT_IMAGE=/vmlinuz-6.8.0-45-generic root=/dev/sda2 ro nomodeset\n"
                     "ROCk module is NOT loaded, possibly no GPU devices\n")
                .cause.id,
            "driver-not-loaded");
}

TEST(DriverNotLoaded, missing_firmware_is_named) {
  const auto found = diagnose(
      "[    3.101] amdgpu 0000:03:00.0: Direct firmware load for amdgpu/gc_12_0_1_mec.bin failed "
      "with error -2\n"
      "[    3.120] amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init\n");
  EXPECT_EQ(found.cause.id, "driver-not-loaded");
  EXPECT_THAT(found.cause.title, HasSubstr("gc_12_0_1_mec.bin"));
}

TEST(DriverNotLoaded, the_missing_version_file_of_the_kernels_own_driver_is_noise) {
  const auto found = diagnose(
      "level=WARN source=amd_linux.go:61 msg=\"ollama recommends running the "
      "https://www.amd.com/en/support/linux-drivers\" error=\"amdgpu version file missing: "
      "/sys/module/amdgpu/version stat /sys/module/amdgpu/version: no such file or directory\"\n");
  EXPECT_EQ(confidence_of(found, "driver-not-loaded"), 0);
  EXPECT_FALSE(found.harmless.empty());
}

// ------------------------------------------------------------------ pcie-atomics

TEST(PcieAtomics, the_kernel_says_so_and_counts_firmware) {
  const auto found = diagnose(
      "[    7.21] kfd kfd: amdgpu: skipped device 1002:744c, PCI rejects atomics 494<509\n");
  EXPECT_EQ(found.cause.id, "pcie-atomics");
  EXPECT_GE(found.cause.confidence, 0.95);
  EXPECT_THAT(found.cause.fix, Contains(HasSubstr("MEC 509")));
}

TEST(PcieAtomics, a_missing_feature_alone_is_no_failure) {
  EXPECT_EQ(diagnose("[    3.2] amdgpu 0000:03:00.0: amdgpu: PCIE atomic ops is not supported\n")
                .cause.id,
            "insufficient-evidence");
}

// ------------------------------------------------------------------ gpu-unsupported

TEST(GpuUnsupported, a_refusal_by_name_explains_the_lack_of_memory) {
  const auto found = diagnose(
      "ROCk module is loaded\n"
      "Unable to open /dev/kfd read-write: Cannot allocate memory\n"
      "[    4.9] kfd kfd: amdgpu: TAHITI  not supported in kfd\n");
  EXPECT_EQ(found.cause.id, "gpu-unsupported");
  EXPECT_EQ(found.verdict, Verdict::unsuitable);
  EXPECT_GE(found.cause.confidence, 0.9);
}

TEST(GpuUnsupported, an_older_wording_and_a_card_by_its_name) {
  EXPECT_EQ(diagnose("[    1.1] kfd2kgd: kfd not supported on this ASIC\n", amd).cause.id,
            "gpu-unsupported");
  EXPECT_EQ(diagnose("01:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] "
                     "Cape Verde XT [Radeon HD 7770/8760 / R7 250X]\n"
                     "RuntimeError: No HIP GPUs are available\n")
                .cause.id,
            "gpu-unsupported");
}

TEST(GpuUnsupported, a_supported_card_that_is_not_seen_is_not_it) {
  const auto found = diagnose("RuntimeError: No HIP GPUs are available\n",
                              R"({"vendor": "AMD", "gpu": "Radeon RX 7900 XTX"})");
  EXPECT_EQ(confidence_of(found, "gpu-unsupported"), 0);
}

// ------------------------------------------------------------------ kernel-too-old

TEST(KernelTooOld, kfd_does_not_know_the_graphics_version) {
  const auto found = diagnose("[    5.1] kfd kfd: amdgpu: GC IP 0b0501  not supported in kfd\n");
  EXPECT_EQ(found.cause.id, "kernel-too-old");
  EXPECT_THAT(found.cause.title, HasSubstr("gfx1151"));
}

TEST(KernelTooOld, the_runtime_asks_for_a_newer_driver) {
  EXPECT_EQ(diagnose("HSA Error:  Incompatible kernel and userspace, Vega 20 disabled. Upgrade "
                     "amdgpu.\n")
                .cause.id,
            "kernel-too-old");
}

TEST(KernelTooOld, a_card_that_is_younger_than_the_kernel) {
  const auto found = diagnose(
      "$ uname -r\n6.8.0-51-generic\n$ rocminfo\n"
      "ROCk module is NOT loaded, possibly no GPU devices\n",
      R"({"vendor": "AMD", "gpu": "Radeon RX 9070 XT"})");
  EXPECT_EQ(found.cause.id, "kernel-too-old");
  EXPECT_LT(found.cause.confidence, 0.8);
}

constexpr std::string_view small_pool =
    "  Name:                    gfx1103\n"
    "  Device Type:             GPU\n"
    "      Size:                    8062036(0x7b0454) KB\n";

TEST(KernelTooOld, a_carve_out_that_6_12_ignores) {
  const auto found =
      diagnose(small_pool, R"({"vendor": "AMD", "gfx": "gfx1103", "kernel": "6.12.9-arch1-1",
                               "vram": "16 GB carve-out"})");
  EXPECT_EQ(found.cause.id, "kernel-too-old");
  EXPECT_THAT(found.cause.title, HasSubstr("16.00 GiB"));
}

TEST(KernelTooOld, a_later_kernel_is_not_blamed_for_the_same_sizes) {
  const auto found =
      diagnose(small_pool, R"({"vendor": "AMD", "gfx": "gfx1103", "kernel": "6.17.1-arch1-1",
                               "vram": "16 GB carve-out"})");
  EXPECT_EQ(confidence_of(found, "kernel-too-old"), 0);
}

// ------------------------------------------------------------------ igpu-selected

constexpr std::string_view two_devices =
    "ggml_cuda_init: found 2 ROCm devices:\n"
    "  Device 0: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no, Wave Size: 32\n"
    "  Device 1: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n";

TEST(IgpuSelected, the_library_has_no_code_for_the_integrated_one) {
  const auto found = diagnose(
      std::string(two_devices) +
      "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file "
      "or directory for GPU arch : gfx1036\n");
  EXPECT_EQ(found.cause.id, "igpu-selected");
  EXPECT_GE(found.cause.confidence, 0.9);
  EXPECT_THAT(found.cause.fix, Contains(HasSubstr("HIP_VISIBLE_DEVICES=1")));
}

TEST(IgpuSelected, the_card_itself_lacking_code_is_another_cause) {
  const auto found = diagnose(
      std::string(two_devices) +
      "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file "
      "or directory for GPU arch : gfx1100\n");
  EXPECT_EQ(confidence_of(found, "igpu-selected"), 0);
}

TEST(IgpuSelected, one_that_is_hidden_is_not_it) {
  const auto found = diagnose("export HIP_VISIBLE_DEVICES=1\n" + std::string(two_devices) +
                              "RuntimeError: HIP error: invalid device function\n");
  EXPECT_EQ(confidence_of(found, "igpu-selected"), 0);
}

TEST(IgpuSelected, less_than_a_gibibyte_is_no_cards_memory) {
  const auto found = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total "
      "capacity of 512.00 MiB of which 0 bytes is free.\n",
      R"({"vendor": "AMD", "gfx": "gfx1200, gfx1036"})");
  EXPECT_EQ(found.cause.id, "igpu-selected");
  EXPECT_EQ(confidence_of(diagnose("GPU 0 has a total capacity of 15.92 GiB\n",
                                   R"({"vendor": "AMD", "gfx": "gfx1200, gfx1036"})"),
                          "igpu-selected"),
            0);
}

TEST(IgpuSelected, a_crash_beside_an_integrated_gpu_is_a_guess) {
  const auto found = diagnose("Segmentation fault (core dumped)\n",
                              R"({"vendor": "AMD", "gfx": "gfx1201, gfx1036"})");
  EXPECT_LT(confidence_of(found, "igpu-selected"), 0.5);
}

// ------------------------------------------------------------------ device-index

TEST(DeviceIndex, the_assertion_gives_both_numbers) {
  const auto found = diagnose(
      "RuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at "
      "\"../aten/src/ATen/hip/HIPContext.cpp\":49, please report a bug to PyTorch. device=3, "
      "num_gpus=2\n",
      amd);
  EXPECT_EQ(found.cause.id, "device-index");
  EXPECT_GE(found.cause.confidence, 0.9);
  EXPECT_THAT(found.cause.title, HasSubstr("Device 3"));
}

TEST(DeviceIndex, a_mask_renumbers) {
  const auto found = diagnose(
      "$ HIP_VISIBLE_DEVICES=2 python train.py --device cuda:2\n"
      "RuntimeError: HIP error: invalid device ordinal\n");
  EXPECT_EQ(found.cause.id, "device-index");
  EXPECT_GE(found.cause.confidence, 0.9);
}

TEST(DeviceIndex, two_masks_leave_none) {
  const auto found = diagnose(
      "export ROCR_VISIBLE_DEVICES=1\nexport HIP_VISIBLE_DEVICES=1\n"
      "RuntimeError: No HIP GPUs are available\n");
  EXPECT_EQ(found.cause.id, "device-index");
  EXPECT_THAT(evidence_of(found), HasSubstr("ROCR_VISIBLE_DEVICES"));
}

TEST(DeviceIndex, an_empty_mask_hides_all) {
  EXPECT_EQ(
      diagnose("$ HIP_VISIBLE_DEVICES= python run.py\nRuntimeError: No HIP GPUs are available\n")
          .cause.id,
      "device-index");
}

TEST(DeviceIndex, a_mask_that_leaves_the_first_is_not_it) {
  const auto found =
      diagnose("export HIP_VISIBLE_DEVICES=0\nRuntimeError: No HIP GPUs are available\n", amd);
  EXPECT_EQ(confidence_of(found, "device-index"), 0);
}

// ------------------------------------------------------------------ who explains whom

TEST(Access, a_slot_without_atomics_explains_that_no_gpu_is_seen) {
  const auto found = diagnose(
      "RuntimeError: No HIP GPUs are available\n"
      "[    4.1] kfd kfd: skipped device 1002:699f, PCI rejects atomics\n");
  EXPECT_EQ(found.cause.id, "pcie-atomics");
  EXPECT_EQ(confidence_of(found, "device-permission"), 0);
}

}  // namespace
}  // namespace headroom::findings
