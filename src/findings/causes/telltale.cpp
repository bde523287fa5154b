// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/telltale.h"

#include <array>

namespace headroom::findings {
namespace {

struct Telltale {
  std::string_view cause;
  std::string_view text;
};

// clang-format off
constexpr std::array telltales = {
  Telltale{"app-bug", "the last \"File …, line …\" of the traceback is in the program's own code"},
  Telltale{"backend-unavailable", "python -c \"import torch.distributed as d; print(d.is_nccl_available(), d.is_gloo_available())\""},
  Telltale{"bar-too-small", "sudo dmesg | grep -E 'BAR [0-9]+.*(no space|failed to assign)'; lspci -vv: Region 0 of the GPU"},
  Telltale{"bitsandbytes-no-rocm", "python -m bitsandbytes"},
  Telltale{"cgroup-memory-limit", "sudo dmesg -T | grep -i 'memory cgroup out of memory'; cat /sys/fs/cgroup/memory.events"},
  Telltale{"collective-hang", "py-spy dump --pid PID on every rank: all wait in a collective; NCCL_DEBUG=INFO"},
  Telltale{"crash-loop", "coredumpctl info -1: the library in the topmost frame"},
  Telltale{"device-index", "HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES and the index that the job asks for"},
  Telltale{"device-permission", "ls -l /dev/kfd /dev/dri/renderD*; id"},
  Telltale{"disk-full", "df -h; df -i"},
  Telltale{"driver-not-loaded", "lsmod | grep amdgpu; sudo dmesg | grep -i amdgpu"},
  Telltale{"firmware-bad", "sudo cat /sys/kernel/debug/dri/*/amdgpu_firmware_info | grep -E 'MES|MEC'"},
  Telltale{"fragmentation", "the message's \"reserved by PyTorch but unallocated\" is larger than what was asked for"},
  Telltale{"framework-bug", "the same program fails alike on another machine and works with another version of the framework"},
  Telltale{"free-memory-misreported", "amd-smi static --vram and rocm-smi --showmeminfo vram gtt, beside what the program says"},
  Telltale{"gfx-override-wrong", "env | grep HSA_OVERRIDE_GFX_VERSION; the same job with it unset"},
  Telltale{"gfx-target-dropped", "python -c \"import torch; print(torch.cuda.get_arch_list())\" of this release and of an older one"},
  Telltale{"gfx-target-missing", "python -c \"import torch; print(torch.cuda.get_arch_list())\" beside rocminfo | grep gfx"},
  Telltale{"gpu-hang", "sudo dmesg -T | grep -iE 'ring .* timeout|GPU reset|MES failed'"},
  Telltale{"gpu-not-used", "the devices that the program lists at its start; the GPU's load while it computes"},
  Telltale{"gpu-unsupported", "sudo dmesg | grep -i kfd: the kernel skips the device"},
  Telltale{"gttsize-cap", "cat /sys/module/amdgpu/parameters/gttsize /sys/module/ttm/parameters/pages_limit"},
  Telltale{"hipblas-workspace", "rocm-smi --showmeminfo vram at the moment of the failure: plenty is free"},
  Telltale{"host-without-kfd", "docker context ls; ls -l /dev/kfd on the engine's own host"},
  Telltale{"hw-error", "sudo dmesg -T | grep -iE 'uncorrectable|RAS|ECC|mce'; the same job on another card"},
  Telltale{"igpu-selected", "the same job with HIP_VISIBLE_DEVICES naming only the discrete GPU"},
  Telltale{"job-too-big", "the same job with half the batch or a smaller model fits"},
  Telltale{"kernel-too-old", "uname -r; the same job under a newer kernel"},
  Telltale{"kfd-not-passed", "ls -l /dev/kfd in the container and on the host"},
  Telltale{"managed-memory", "the same job with HSA_XNACK=0 HSA_USE_SVM=0"},
  Telltale{"memory-fraction-cap", "the message says that less is allowed than the card has; look for set_per_process_memory_fraction"},
  Telltale{"miopen-db", "the same job with MIOPEN_USER_DB_PATH=/tmp/miopen MIOPEN_CUSTOM_CACHE_DIR=/tmp/miopen"},
  Telltale{"missing-library", "ldd on the library that the message names; pip show PACKAGE"},
  Telltale{"none", "the same job ends well when it is run again"},
  Telltale{"not-amd-gpu", "lspci -nn | grep -Ei 'vga|display|3d'"},
  Telltale{"pcie-atomics", "sudo dmesg | grep -i atomic"},
  Telltale{"python-version-unsupported", "python --version beside the versions in the wheels' names (cp312)"},
  Telltale{"rccl-p2p", "the same job with NCCL_P2P_DISABLE=1; cat /proc/cmdline for iommu=pt"},
  Telltale{"rocm-regression", "the same job with the ROCm release before"},
  Telltale{"rocm-version-mismatch", "python -c \"import torch; print(torch.version.hip)\" beside cat /opt/rocm/.info/version"},
  Telltale{"torchao-incompatible", "pip show torch torchao | grep -E 'Name|Version'"},
  Telltale{"ttm-cap", "cat /sys/module/ttm/parameters/pages_limit: half the RAM, in pages of 4 KiB"},
  Telltale{"uma-carveout-small", "cat /sys/class/drm/card*/device/mem_info_vram_total; the BIOS' UMA frame buffer size"},
  Telltale{"unsupported-option", "the same job without the option that the warning names"},
  Telltale{"vram-guard", "the same job with headroom run --guard off"},
  Telltale{"vram-held-by-other", "rocm-smi --showpids; sudo fuser -v /dev/kfd /dev/dri/renderD*, on the host"},
  Telltale{"vram-orphaned", "rocm-smi --showmeminfo vram while no process holds /dev/kfd"},
  Telltale{"wrong-wheel", "python -c \"import torch; print(torch.__version__, torch.version.hip)\""},
};
// clang-format on

}  // namespace

std::string_view telltale(std::string_view cause) {
  for (const Telltale& one : telltales) {
    if (one.cause == cause) return one.text;
  }
  return {};
}

}  // namespace headroom::findings
