// SPDX-License-Identifier: Apache-2.0
#include "facts/python_stack.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"

namespace headroom::facts {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

// "name = 'value'", "name: Optional[str] = 'value'"; None is not_present.
Text find_assignment(const Text& text, std::string_view name) {
  if (!text) return text;
  int number = 0;
  for (const std::string_view line : split_lines(*text)) {
    ++number;
    if (!line.starts_with(name)) continue;
    std::string_view rest = line.substr(name.size());
    if (rest.empty() || (rest[0] != ' ' && rest[0] != ':' && rest[0] != '=')) continue;
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) continue;
    rest = trim(rest.substr(equals + 1));
    const Source source{text.source().path, number, std::string(trim(line))};
    if (rest == "None") return {Missing{Why::not_present, ""}, source};
    const bool quoted =
        rest.size() > 2 && (rest[0] == '\'' || rest[0] == '"') && rest.back() == rest[0];
    if (!quoted) return {Missing{Why::not_understood, std::string(rest.substr(0, 80))}, source};
    return {std::string(rest.substr(1, rest.size() - 2)), source};
  }
  return {Missing{Why::not_present, "no line \"" + std::string(name) + "\""}, text.source()};
}

// "6.0" of "6.0.32830-d62f6a171".
std::string major_minor(std::string_view version) {
  const auto parts = split(version, '.');
  if (parts.size() < 2) return std::string(version);
  return std::string(parts[0]) + "." + std::string(parts[1]);
}

// torch's own tag is surer than HIP's number, which need not follow ROCm's.
Text find_rocm(const Torch& torch) {
  if (torch.version) {
    const std::size_t tag = torch.version->find("+rocm");
    if (tag != std::string::npos) {
      return {major_minor(torch.version->substr(tag + 5)), torch.version.source()};
    }
  }
  if (!torch.hip) return torch.hip;
  return {major_minor(*torch.hip), torch.hip.source()};
}

Fact<TorchKind> find_kind(const Torch& torch) {
  if (torch.hip) return {TorchKind::rocm, torch.hip.source()};
  if (torch.cuda) return {TorchKind::cuda, torch.cuda.source()};
  const bool told = torch.hip.missing().why == Why::not_present &&
                    torch.cuda.missing().why == Why::not_present && torch.version;
  if (told) return {TorchKind::cpu, torch.version.source()};
  return (torch.version ? torch.hip : torch.version).absent<TorchKind>();
}

// The gfx name at `at`, with "-generic" where it follows; empty if there is none.
std::string target_at(std::string_view name, std::size_t at) {
  std::size_t end = at + 3;
  while (end < name.size() && is_hex(name[end])) ++end;
  const std::string_view tail = name.substr(end);
  // gfx9-4-generic, gfx10-3-generic, gfx11-generic.
  for (const std::string_view generic : {"-generic", "-1-generic", "-3-generic", "-4-generic"}) {
    if (end > at + 3 && tail.starts_with(generic)) {
      return std::string(name.substr(at, end - at)) + std::string(generic);
    }
  }
  const std::size_t digits = end - at - 3;
  const bool ends =
      tail.empty() || tail[0] == '.' || tail[0] == '-' || tail[0] == '_' || tail[0] == ':';
  return digits >= 3 && digits <= 5 && ends ? std::string(name.substr(at, end - at)) : "";
}

bool holds_code(std::string_view name) {
  if (name.starts_with("gfx") && name.find('.') == std::string_view::npos)
    return true;  // A folder.
  if (name.ends_with(".zlib") || name.ends_with(".zst")) name = name.substr(0, name.rfind('.'));
  for (const std::string_view end : {".dat", ".co", ".hsaco", ".kpack"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

// LLVM, AMDGPUUsage, "generic processors".
struct Generic {
  std::string_view name, members;
};

constexpr std::array generics = {
    Generic{"gfx9-generic", "gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c"},
    Generic{"gfx9-4-generic", "gfx942 gfx950"},
    Generic{"gfx10-1-generic", "gfx1010 gfx1011 gfx1012 gfx1013"},
    Generic{"gfx10-3-generic", "gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036"},
    Generic{"gfx11-generic", "gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153"},
    Generic{"gfx12-generic", "gfx1200 gfx1201"},
};

}  // namespace

VirtualEnvironment parse_pyvenv(const Text& text) {
  // "key = value": a key's line is found by its first word, and what follows begins with "=".
  const auto value = [&](std::string_view key) -> Text {
    Text rest = find_line(text, key);
    if (!rest) return rest;
    const std::string_view word =
        rest->starts_with('=') ? trim(std::string_view(*rest).substr(1)) : "";
    if (word.empty()) return {Missing{Why::not_understood, *rest}, rest.source()};
    return {std::string(word), rest.source()};
  };
  VirtualEnvironment environment;
  environment.home = value("home");
  environment.version = value("version");
  if (!environment.version) environment.version = value("version_info");
  const Text system = value("include-system-site-packages");
  environment.system_packages = system && to_lower(*system) == "true";
  return environment;
}

std::optional<Package> parse_package_folder(std::string_view name) {
  std::string_view stem = name;
  for (const std::string_view end : {".dist-info", ".egg-info"}) {
    if (stem.ends_with(end)) stem.remove_suffix(end.size());
  }
  if (stem.size() == name.size()) return std::nullopt;
  const std::size_t dash = stem.find('-');
  if (dash == 0 || dash == std::string_view::npos) return std::nullopt;
  std::string_view version = stem.substr(dash + 1);
  if (name.ends_with(".egg-info")) version = version.substr(0, version.find("-py"));
  if (version.empty() || !is_digit(version[0])) return std::nullopt;
  Package package{to_lower(stem.substr(0, dash)), std::string(version), ""};
  for (char& c : package.name) {
    if (c == '_' || c == '.') c = '-';
  }
  return package;
}

std::optional<std::string> parse_interpreter_name(std::string_view name) {
  if (!name.starts_with("python")) return std::nullopt;
  const auto parts = split(name.substr(6), '.');
  if (parts.size() != 2 || !parse_u64(parts[0]) || !parse_u64(parts[1])) return std::nullopt;
  return std::string(name.substr(6));
}

std::string_view to_string(TorchKind kind) {
  switch (kind) {
    case TorchKind::rocm:
      return "rocm";
    case TorchKind::cuda:
      return "cuda";
    case TorchKind::cpu:
      break;
  }
  return "cpu";
}

Torch parse_torch_version(const Text& text) {
  Torch torch;
  torch.version = find_assignment(text, "__version__");
  torch.hip = find_assignment(text, "hip");
  torch.cuda = find_assignment(text, "cuda");
  torch.rocm = find_rocm(torch);
  torch.kind = find_kind(torch);
  return torch;
}

std::vector<std::string> find_targets(const std::vector<std::string>& names) {
  std::set<std::string> targets;
  for (const std::string& name : names) {
    if (!holds_code(name)) continue;
    for (std::size_t at = name.find("gfx"); at != std::string::npos;
         at = name.find("gfx", at + 3)) {
      std::string target = target_at(name, at);
      if (!target.empty()) targets.insert(std::move(target));
    }
  }
  std::vector<std::string> sorted(targets.begin(), targets.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const std::string& a, const std::string& b) {
    return a.size() < b.size();  // gfx906 before gfx1030.
  });
  return sorted;
}

bool carries(const std::vector<std::string>& targets, std::string_view gfx) {
  const auto has = [&](std::string_view target) {
    return std::find(targets.begin(), targets.end(), target) != targets.end();
  };
  if (has(gfx)) return true;
  return std::any_of(generics.begin(), generics.end(), [&](const Generic& generic) {
    const auto members = split_words(generic.members);
    return has(generic.name) && std::find(members.begin(), members.end(), gfx) != members.end();
  });
}

bool is_of_interest(std::string_view package) {
  constexpr std::array names = {"torch",
                                "torchvision",
                                "torchaudio",
                                "torchao",
                                "torchtune",
                                "transformers",
                                "peft",
                                "accelerate",
                                "trl",
                                "bitsandbytes",
                                "triton",
                                "pytorch-triton-rocm",
                                "triton-rocm",
                                "onnxruntime",
                                "onnxruntime-rocm",
                                "onnxruntime-migraphx",
                                "llama-cpp-python",
                                "vllm",
                                "deepspeed",
                                "flash-attn",
                                "xformers",
                                "tensorflow-rocm",
                                "jax-rocm7-plugin",
                                "rocm",
                                "rocm-sdk-core"};
  return std::find(names.begin(), names.end(), package) != names.end() ||
         package.starts_with("amd-torch-device-") || package.starts_with("rocm-sdk-device-");
}

}  // namespace headroom::facts
