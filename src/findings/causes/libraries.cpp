// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/libraries.h"

#include <re2/re2.h>

#include <array>

#include "base/text.h"
#include "facts/kernel_text.h"

namespace headroom::findings {
namespace {

struct Soname {
  std::string_view name;
  std::uint64_t number;
  std::uint64_t rocm;  // The major release.
};

// The numbers are from CMakeLists.txt of each library at the release tags. Libraries that have the
// release's own number are in `numbered_as_rocm`.
constexpr std::array sonames = {
    Soname{"libhip_hcc.so", 3, 3},    Soname{"libhip_hcc.so", 2, 2},
    Soname{"libmcwamp.so", 3, 3},     Soname{"libmcwamp.so", 2, 2},
    Soname{"librocblas.so", 3, 5},    Soname{"librocblas.so", 4, 6},
    Soname{"librocblas.so", 5, 7},    Soname{"libhipblas.so", 1, 5},
    Soname{"libhipblas.so", 2, 6},    Soname{"libhipblas.so", 3, 7},
    Soname{"libhipblaslt.so", 1, 7},  Soname{"libhipsparse.so", 4, 7},
    Soname{"libhipsolver.so", 1, 7},  Soname{"libamd_comgr.so", 3, 7},
    Soname{"librocm_smi64.so", 5, 5}, Soname{"librocm_smi64.so", 6, 6},
};
constexpr std::array<std::string_view, 3> numbered_as_rocm = {"libamdhip64.so", "libhiprtc.so",
                                                              "libhiprtc-builtins.so"};

// What a release gave up within a major one. HIP's runtime was built on the compiler hcc and its
// libmcwamp until ROCm 3.5 put the present one in its place (ROCm/HIP: RELEASE.md of 3.5).
// rocm_smi_lib got the number 7 with ROCm 6.1 (its package rocm-smi-lib 7.0.0.60100).
struct GivenUp {
  std::string_view name, since;
};
constexpr std::array given_up = {GivenUp{"libhip_hcc.so", "3.5"}, GivenUp{"libmcwamp.so", "3.5"},
                                 GivenUp{"librocm_smi64.so.6", "6.1"}};

// The month in which a major release came out, from ROCm's release history.
struct Major {
  std::uint64_t number;
  std::string_view since;
};
constexpr std::array majors = {Major{4, "2020-12"}, Major{5, "2022-02"}, Major{6, "2023-12"},
                               Major{7, "2025-09"}};

// Splits off ".so" with what is before it, and the first number after it.
std::pair<std::string_view, std::optional<std::uint64_t>> split_soname(std::string_view soname) {
  const std::size_t end = soname.find(".so");
  if (end == std::string_view::npos) return {soname, std::nullopt};
  const std::string_view name = soname.substr(0, end + 3);
  if (soname.size() <= end + 4) return {name, std::nullopt};
  return {name, parse_u64(split(soname.substr(end + 4), '.').front())};
}

struct Package {
  std::string_view library, how;
};

// The packages with libraries that ROCm's libraries need but do not bring.
constexpr Package packages[] = {
    {"libnuma", "libnuma1 (Debian, Ubuntu), numactl-libs (Fedora, RHEL)"},
    {"libelf", "libelf1 (Debian, Ubuntu), elfutils-libelf (Fedora, RHEL)"},
    {"libdrm", "libdrm2 and libdrm-amdgpu1 (Debian, Ubuntu), libdrm (Fedora, RHEL)"},
    {"libtinfo", "libtinfo6 (Debian, Ubuntu), ncurses-compat-libs (Fedora, RHEL)"},
    {"libstdc++", "libstdc++6 (Debian, Ubuntu), libstdc++ (Fedora, RHEL)"},
    {"libgomp", "libgomp1 (Debian, Ubuntu), libgomp (Fedora, RHEL)"},
    {"libopenblas", "libopenblas0 (Debian, Ubuntu), openblas (Fedora, RHEL)"},
    {"librocdxg", "librocdxg's own, from https://github.com/ROCm/librocdxg/releases"},
    {"libdxcore", "WSL's own: wsl --update in Windows's PowerShell"},
    {"libGL.so", "libgl1 (Debian, Ubuntu), mesa-libGL (Fedora, RHEL)"},
    {"libmpi", "libopenmpi3 (Debian, Ubuntu), openmpi (Fedora, RHEL)"},
};

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> heads) {
  for (const std::string_view head : heads) {
    if (text.starts_with(head)) return true;
  }
  return false;
}

// RCCL tries these and goes on without (ROCm/rccl: src/plugin).
bool is_plugin_of_rccl(std::string_view name) {
  for (const std::string_view plugin : {"rccl-net", "nccl-net", "rccl-tuner", "nccl-tuner",
                                        "rccl-profiler", "nccl-profiler", "nccl-env"}) {
    if (name.starts_with("lib" + std::string(plugin))) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> missing_library(const logs::Observation& seen) {
  std::string name(seen.value("library"));
  if (name.empty()) name = seen.value("loading");
  if (name.empty() || name.starts_with("libbitsandbytes") || is_plugin_of_rccl(name)) {
    return std::nullopt;
  }
  // ollama and llama.cpp try every vendor's libraries in turn and report each.
  const bool only_tried = seen.text.find("level=") != std::string::npos &&
                          seen.text.find("source=") != std::string::npos;
  if (only_tried && !is_library_of_rocm(name)) return std::nullopt;
  return name;
}

bool has_no_kernels_at_all(const logs::Observation& seen) {
  // A file that is there and cannot be read ("Illegal seek") is no missing folder.
  if (seen.text.find("No such file") == std::string::npos) return false;
  bool is_list = false;
  for (const std::string& line : seen.output) {
    if (is_list) return line.find("TensileLibrary") == std::string::npos;
    is_list = line.find("List of available TensileLibrary Files") != std::string::npos;
  }
  return false;  // Where the log ends with the heading, the list is cut off.
}

std::optional<std::uint64_t> rocm_major_of_library(std::string_view soname) {
  const auto [name, number] = split_soname(soname);
  if (!number) return std::nullopt;
  for (const std::string_view one : numbered_as_rocm) {
    if (one == name) return number;
  }
  for (const Soname& one : sonames) {
    if (one.name == name && one.number == *number) return one.rocm;
  }
  return std::nullopt;
}

bool is_gone_in(std::string_view soname, std::string_view rocm) {
  const auto [name, number] = split_soname(soname);
  const std::string numbered = number ? std::string(name) + "." + std::to_string(*number) : "";
  const auto release = facts::parse_kernel_version(rocm);
  for (const GivenUp& one : given_up) {
    const auto since = facts::parse_kernel_version(one.since);
    const bool is_it = one.name == name || one.name == numbered;
    if (is_it && release && since) return !(*release < *since);
  }
  return false;
}

std::string date_of(const logs::Observations& log) {
  static const RE2 date(R"(\b(20[12]\d)[-/](0[1-9]|1[0-2])[-/](?:0[1-9]|[12]\d|3[01])(?:\b|T))");
  std::string year, month;
  for (const logs::Observation& one : log.all()) {
    if (RE2::PartialMatch(one.time, date, &year, &month) ||
        RE2::PartialMatch(one.text, date, &year, &month)) {
      return year + "-" + month;
    }
  }
  return {};
}

bool was_current(std::uint64_t major, std::string_view date) {
  if (date.empty()) return false;
  std::uint64_t newest = 0;
  for (const Major& one : majors) {
    if (one.since <= date) newest = one.number;
  }
  return newest == major;
}

bool is_library_of_cuda(std::string_view soname) {
  const auto [name, number] = split_soname(soname);
  for (const std::string_view one : {"libcuda.so", "libnccl.so", "libc10_cuda.so",
                                     "libtorch_cuda.so", "libnvidia-ml.so", "libcupti.so"}) {
    if (name == one) return true;
  }
  return starts_with_any(
      name, {"libcudart", "libcublas", "libcudnn", "libcusparse", "libcufft", "libcurand",
             "libcusolver", "libnvrtc", "libnvToolsExt", "libnvinfer", "libnvJitLink"});
}

bool is_library_of_rocm(std::string_view soname) {
  return starts_with_any(soname, {"libamdhip", "libhip", "libroc", "libMIOpen", "librccl", "libhsa",
                                  "libamd_", "libmigraphx", "libmagma", "libmcwamp"});
}

bool is_of_torch_for_rocm(std::string_view soname) {
  return starts_with_any(soname, {"libtorch_hip.so", "libc10_hip.so"});
}

std::string_view package_of_library(std::string_view soname) {
  for (const Package& package : packages) {
    if (soname.starts_with(package.library)) return package.how;
  }
  return {};
}

bool is_known_module(std::string_view module) {
  static constexpr std::string_view known =
      " torch torchvision torchaudio triton flash_attn xformers amdsmi numpy transformers "
      "diffusers accelerate peft deepspeed vllm aiter tensorflow jax jaxlib cupy "
      "onnxruntime bitsandbytes sageattention safetensors datasets sentencepiece cv2 PIL "
      "yaml setuptools pkg_resources packaging tqdm einops scipy pandas apex hip mamba_ssm "
      "causal_conv1d rocm_sdk distutils ninja trl unsloth gradio requests torchao "
      "torchtune pytorch_lightning lightning torch_directml exllamav2 auto_gptq llama_cpp ";
  return known.find(" " + std::string(module) + " ") != std::string_view::npos;
}

}  // namespace headroom::findings
