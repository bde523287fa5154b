// SPDX-License-Identifier: Apache-2.0
// The causes that keep a job from the GPU: permission, containers, the driver, the slot.
#include <gmock/gmock.h>

#include "findings/causes/causes.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using ::testing::Contains;
using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

// ------------------------------------------------------------------ device-permission

TEST(KfdNotPassed, a_comment_in_a_compose_file_passes_nothing) {
  const std::string failed =
      "comfyui-1  | RuntimeError: No HIP GPUs are available\ncomfyui-1 exited with code 1\n"
      "    devices:\n";
  const std::string rest = "      - \"/dev/dri:/dev/dri\"\n";
  const auto found = diagnose(failed + "#      - \"/dev/kfd:/dev/kfd\" # for ROCm\n" + rest,
                              R"({"vendor": "AMD", "container": "docker compose"})");
  EXPECT_EQ(found.cause.id, "kfd-not-passed");
  EXPECT_GE(found.cause.confidence, 0.7);
  const auto passed = diagnose(failed + "      - \"/dev/kfd:/dev/kfd\"\n" + rest,
                               R"({"vendor": "AMD", "container": "docker compose"})");
  EXPECT_LT(passed.cause.confidence, 0.7);
}

TEST(DevicePermission, a_refused_node_is_named_with_its_group) {
  const auto found = diagnose(
      "ROCk module is loaded\n"
      "Unable to open /dev/kfd read-write: Permission denied\n"
      "ada is not member of \"render\" group, the default DRM access group.\n");
  EXPECT_EQ(found.cause.id, "device-permission");
  EXPECT_GE(found.cause.confidence, 0.9);
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("usermod -aG render")));
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
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("keep-groups")));
}

TEST(DevicePermission, that_no_gpu_is_seen_is_not_enough) {
  const auto found = diagnose("RuntimeError: No HIP GPUs are available\n", amd);
  EXPECT_EQ(found.cause.id, "insufficient-evidence");
  EXPECT_LE(confidence_of(found, "device-permission"), 0.4);
}

// ------------------------------------------------------------------ kfd-not-passed

TEST(KfdNotPassed, a_node_that_answers_eperm_is_a_gpu_that_the_container_was_not_given) {
  // PyTorch's build for ROCm says "CUDA error", and that makes no GPU one of NVIDIA's.
  const auto found = diagnose(
      "$ docker exec -it work bash\n"
      "# rocminfo | grep gfx\n"
      "  Name:                    gfx1100\n"
      "# cat /sys/class/kfd/kfd/topology/nodes/2/properties\n"
      "cat: /sys/class/kfd/kfd/topology/nodes/2/properties: Operation not permitted\n"
      "RuntimeError: CUDA error: invalid device ordinal\n");
  EXPECT_EQ(found.cause.id, "kfd-not-passed");
  EXPECT_THAT(found.cause.title, ::testing::HasSubstr("not passed to this container"));
}

TEST(KfdNotPassed, a_node_that_is_withheld_ends_no_job_on_the_others) {
  const auto found = diagnose(
      "cat: /sys/class/kfd/kfd/topology/nodes/2/properties: Operation not permitted\n"
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total "
      "capacity of 15.98 GiB of which 420.00 MiB is free. Of the allocated memory 14.60 GiB is "
      "allocated by PyTorch, and 190.10 MiB is reserved by PyTorch but unallocated.\n");
  EXPECT_EQ(found.cause.id, "job-too-big");
}

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
  EXPECT_THAT(found.cause.reasons, Contains(HasSubstr("only /dev/dri")));
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
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("docker context use default")));
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

TEST(DriverNotLoaded, the_driver_gives_the_gpu_up) {
  constexpr std::string_view given_up =
      "[    3.120] amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init\n";
  EXPECT_EQ(diagnose(given_up).cause.id, "driver-not-loaded");
  const auto firmware = diagnose(
      "[    3.101] amdgpu 0000:03:00.0: Direct firmware load for amdgpu/gc_12_0_1_mec.bin failed "
      "with error -2\n" +
      std::string(given_up));
  EXPECT_NE(firmware.cause.id, "driver-not-loaded") << "the missing file is the cause";
  EXPECT_GT(confidence_of(firmware, "driver-not-loaded"), 0);
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
  EXPECT_THAT(texts_of(found.cause.fix), Contains(HasSubstr("MEC 509")));
}

TEST(PcieAtomics, a_missing_feature_alone_is_no_failure) {
  EXPECT_EQ(diagnose("[    3.2] amdgpu 0000:03:00.0: amdgpu: PCIE atomic ops is not supported\n")
                .cause.id,
            "insufficient-evidence");
}

TEST(PcieAtomics, a_port_that_calls_an_atomic_operation_malformed) {
  const std::string error =
      "[  33.1] pcieport 0000:00:1c.0: PCIe Bus Error: severity=Uncorrected (Fatal), "
      "type=Transaction Layer, id=00e0(Receiver ID)\n"
      "[  33.2] pcieport 0000:00:1c.0:    [18] Malformed TLP          (First)\n";
  const auto header = [](const std::string& first) {
    return "[  33.3] pcieport 0000:00:1c.0:   TLP Header: " + first +
           " 01000003 00000001 c0de0000\n";
  };
  const auto atomic = diagnose(error + header("4c000002"), amd);
  EXPECT_EQ(atomic.cause.id, "pcie-atomics");
  EXPECT_GE(atomic.cause.confidence, 0.8);
  // A memory write is none.
  EXPECT_EQ(diagnose(error + header("60000002"), amd).cause.id, "hw-error");
}

TEST(DriverNotLoaded, a_module_whose_symbols_are_missing) {
  const auto found = diagnose(
      "[  3.1] amdgpu: Unknown symbol drm_sched_job_init (err -2)\n"
      "$ rocminfo\nROCk module is NOT loaded, possibly no GPU devices\n",
      amd);
  EXPECT_EQ(found.cause.id, "driver-not-loaded");
}

TEST(KernelTooOld, a_discovery_table_that_cannot_be_read_is_no_question_of_age) {
  const auto found = diagnose(
      "[  9.1] amdgpu 0000:21:00.0: amdgpu: get invalid ip discovery binary signature\n"
      "[  9.2] [drm:amdgpu_discovery_set_ip_blocks [amdgpu]] *ERROR* amdgpu_discovery_init "
      "failed\n"
      "[  9.3] amdgpu 0000:21:00.0: amdgpu: Fatal error during GPU init\n",
      amd);
  EXPECT_NE(found.cause.id, "kernel-too-old");
}

TEST(DevicePermission, a_group_that_is_not_mapped_is_nobodys) {
  constexpr std::string_view node =
      "$ podman run --device /dev/kfd --rm image ls -ln /dev/kfd\n"
      "crw-rw---- 1 65534 65534 235, 0 Mar  2 09:00 /dev/kfd\n"
      "ggml_cuda_init: failed to initialize ROCm: no ROCm-capable device is detected\n";
  const auto found = diagnose(node, R"({"vendor": "AMD", "container": "podman"})");
  EXPECT_EQ(found.cause.id, "device-permission");
  EXPECT_GE(found.cause.confidence, 0.75);
  const auto open_to_all = diagnose(
      "$ podman run --device /dev/kfd --rm image ls -ln /dev/kfd\n"
      "crw-rw-rw- 1 65534 65534 235, 0 Mar  2 09:00 /dev/kfd\n"
      "ggml_cuda_init: failed to initialize ROCm: no ROCm-capable device is detected\n",
      R"({"vendor": "AMD", "container": "podman"})");
  EXPECT_NE(open_to_all.cause.id, "device-permission");
}

TEST(DevicePermission, a_container_that_was_given_the_node_lacks_rights_and_no_device) {
  const std::string user =
      "docker run -it --device=/dev/kfd --device=/dev/dri rocm/rocm-terminal\n"
      "rocm-user@0123456789ab:~$ rocminfo\n"
      "hsa api call failure at line 900, file: rocminfo.cc. Call returned 4104\n";
  const auto alone = diagnose(user, R"({"vendor": "AMD", "container": "docker"})");
  EXPECT_EQ(alone.cause.id, "device-permission");
  const auto as_root = diagnose(user +
                                    "rocm-user@0123456789ab:~$ sudo /opt/rocm/bin/rocminfo\n"
                                    "HSA System Attributes\n",
                                R"({"vendor": "AMD", "container": "docker"})");
  EXPECT_EQ(as_root.cause.id, "device-permission");
  EXPECT_GE(as_root.cause.confidence, 0.8);
  const auto root_fails = diagnose(user +
                                       "rocm-user@0123456789ab:~$ sudo rocminfo\n"
                                       "hsa api call failure at line 900, file: rocminfo.cc. "
                                       "Call returned 4104\n",
                                   R"({"vendor": "AMD", "container": "docker"})");
  EXPECT_LT(root_fails.cause.confidence, 0.8);
}

TEST(KernelTooOld, a_device_that_later_kernels_serve_is_missing_in_its_list) {
  const auto found = diagnose("[    2.9] kfd kfd: DID 731f is missing in supported_devices\n");
  EXPECT_EQ(found.cause.id, "kernel-too-old");
  const auto never = diagnose("[    2.9] kfd kfd: DID 6611 is missing in supported_devices\n");
  EXPECT_NE(never.cause.id, "kernel-too-old");
}

}  // namespace
}  // namespace headroom::findings
