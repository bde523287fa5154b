// SPDX-License-Identifier: Apache-2.0
#include "redact/settings.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace headroom::redact {
namespace {

template <std::size_t size>
bool is_in(const std::array<std::string_view, size>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The parts of a name: "wifi-psk" → wifi, psk.
std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : to_lower(name)) {
    if (is_lower(c) || is_digit(c)) {
      parts.back() += c;
    } else {
      parts.emplace_back();
    }
  }
  return parts;
}

// "120GiB", "0x1f", "-1", "50%", "3.5".
bool is_number(std::string_view text) {
  constexpr std::size_t longest = 24;
  if (text.empty() || text.size() > longest) return false;
  if (parse_hex(text) && text.starts_with("0x")) return true;
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  std::size_t digits = 0;
  std::size_t dots = 0;
  while (digits < text.size() && (is_digit(text[digits]) || text[digits] == '.')) {
    if (text[digits++] == '.') ++dots;
  }
  static constexpr std::array<std::string_view, 17> units{"",    "k",   "m",   "g",  "t", "p",
                                                          "kb",  "mb",  "gb",  "tb", "%", "kib",
                                                          "mib", "gib", "tib", "s",  "ms"};
  return digits > 0 && dots <= 1 && is_in(units, to_lower(text.substr(digits)));
}

bool is_switch_value(std::string_view text) {
  static constexpr std::array<std::string_view, 46> words{
      "on",      "off",     "yes",      "no",          "y",         "n",
      "true",    "false",   "auto",     "force",       "pt",        "strict",
      "lazy",    "nomsi",   "msi",      "realloc",     "noats",     "always",
      "never",   "madvise", "default",  "performance", "powersave", "powersupersave",
      "passive", "active",  "guided",   "full",        "legacy",    "memory",
      "v1",      "v2",      "sm",       "fullflush",   "nopt",      "igfx_off",
      "soft",    "noaer",   "native",   "compat",      "nosmt",     "enable",
      "disable", "enabled", "disabled", "none"};
  return is_in(words, text);
}

}  // namespace

bool looks_secret(std::string_view name) {
  static constexpr std::array<std::string_view, 12> stems{
      "token", "key",    "secret", "pass",    "credential", "auth",
      "psk",   "cookie", "bearer", "private", "serial",     "license"};
  static constexpr std::array<std::string_view, 11> harmless{
      "tokenizer", "tokenizers", "passthrough", "keyboard",  "keymap",    "author",
      "authors",   "bypass",     "monkey",      "serialize", "serialized"};
  static constexpr std::array<std::string_view, 5> whole{"pin", "pwd", "cred", "creds", "pw"};
  const auto parts = parts_of(name);
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    if (is_in(harmless, part)) return false;
    return is_in(whole, part) || std::any_of(stems.begin(), stems.end(), [&](auto stem) {
             return part.find(stem) != std::string::npos;
           });
  });
}

bool is_plain_value(std::string_view value) {
  const auto parts = split(value, ',');
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return is_number(part) || is_switch_value(to_lower(part));
  });
}

bool is_kept_module(std::string_view module) {
  static constexpr std::array<std::string_view, 24> modules{
      "amdgpu",   "amdttm",   "ttm",      "amdkcl",    "amd_iommu",
      "iommu",    "radeon",   "amdxcp",   "drm",       "drm_kms_helper",
      "nouveau",  "i915",     "xe",       "nvidia",    "nvidia_drm",
      "vfio",     "vfio_pci", "vfio-pci", "pcie_aspm", "pci_stub",
      "pci-stub", "kvm",      "kvm_amd",  "amd_pstate"};
  return is_in(modules, module);
}

bool is_kept_option(std::string_view key) {
  static constexpr std::array<std::string_view, 22> options{"pci",
                                                            "pcie_acs_override",
                                                            "pcie_ports",
                                                            "pcie_port_pm",
                                                            "iommu",
                                                            "amd_iommu",
                                                            "intel_iommu",
                                                            "video",
                                                            "console",
                                                            "modprobe.blacklist",
                                                            "module_blacklist",
                                                            "rd.driver.blacklist",
                                                            "rd.driver.pre",
                                                            "initcall_blacklist",
                                                            "mem",
                                                            "memmap",
                                                            "cgroup_enable",
                                                            "cgroup_disable",
                                                            "mitigations",
                                                            "lsm",
                                                            "efi",
                                                            "preempt"};
  return is_in(options, key);
}

bool is_plain_switch(std::string_view word) {
  constexpr std::size_t longest = 24;
  static constexpr std::array<std::string_view, 5> with_digits{"nox2apic", "nosmp4", "no5lvl",
                                                               "x2apic_phys", "nohz8"};
  return is_in(with_digits, word) ||
         (!word.empty() && word.size() <= longest &&
          std::all_of(word.begin(), word.end(), [](char c) { return is_lower(c) || c == '_'; }));
}

bool is_parameter_name(std::string_view key) {
  constexpr std::size_t longest = 64;
  if (key == "BOOT_IMAGE") return true;
  return !key.empty() && key.size() <= longest && is_lower(key.front()) &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return is_lower(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
         });
}

bool is_kept_variable(std::string_view name) {
  static constexpr std::array<std::string_view, 39> starts{"HSA_",
                                                           "HIP_",
                                                           "HIPBLAS",
                                                           "HCC_",
                                                           "ROCR_",
                                                           "ROCM_",
                                                           "ROCBLAS_",
                                                           "ROCSOLVER_",
                                                           "CUDA_",
                                                           "GPU_",
                                                           "AMD_",
                                                           "AMDGPU_",
                                                           "MIOPEN_",
                                                           "PYTORCH_",
                                                           "TORCH_",
                                                           "NCCL_",
                                                           "RCCL_",
                                                           "OMP_",
                                                           "MKL_",
                                                           "OPENBLAS_",
                                                           "TOKENIZERS_",
                                                           "TRITON_",
                                                           "XLA_",
                                                           "JAX_",
                                                           "VLLM_",
                                                           "LLAMA_",
                                                           "GGML_",
                                                           "OLLAMA_",
                                                           "FLASH_ATTENTION_",
                                                           "TENSILE_",
                                                           "SLURM_JOB",
                                                           "MALLOC_",
                                                           "BITSANDBYTES_",
                                                           "AMDSMI_",
                                                           "HSAKMT_",
                                                           "MACHINE_LEARNING_WORKER",
                                                           "ROCPROFILER_",
                                                           "ROC_",
                                                           "LIBROCDXG_"};
  static constexpr std::array<std::string_view, 11> names{
      "LD_LIBRARY_PATH", "LD_PRELOAD",   "PATH",      "PYTHONPATH", "PYTHONHOME",      "HOME",
      "VIRTUAL_ENV",     "CONDA_PREFIX", "container", "DRI_PRIME",  "ZE_AFFINITY_MASK"};
  const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
    return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z') || c == '_';
  });
  if (!is_name || looks_secret(name)) return false;
  return is_in(names, name) || std::any_of(starts.begin(), starts.end(),
                                           [&](auto start) { return name.starts_with(start); });
}

}  // namespace headroom::redact
