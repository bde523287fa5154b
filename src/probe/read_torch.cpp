// SPDX-License-Identifier: Apache-2.0
// The code objects in a wheel tell its targets, in three layouts: PyTorch's own wheels bring
// rocBLAS under torch/lib; TheRock's wheels for one family have it in a separate package; TheRock's
// wheels for many targets have one file of kernels per target.
#include "probe/read_torch.h"

#include <algorithm>

#include "probe/read_text.h"
#include "probe/rocm_folders.h"

namespace headroom::probe {
namespace {

using facts::Missing;
using facts::PythonStack;
using facts::Source;
using facts::Torch;
using facts::Why;
using machine::Files;
using Names = std::vector<std::string>;

bool contains(const Names& names, std::string_view one) {
  return std::find(names.begin(), names.end(), one) != names.end();
}

bool any_begins(const Names& names, std::string_view start) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.starts_with(start); });
}

// Lists the folders to look in, the surest first.
Names target_folders(const Files& files, const std::string& site, const Names& in_site,
                     const Names& in_lib, bool own_rocm) {
  Names folders = {site + "/torch/.kpack"};
  if (contains(in_lib, "rocblas")) folders.push_back(site + "/torch/lib/rocblas/library");
  for (const std::string& name : in_site) {
    if (!name.starts_with("_rocm_sdk_libraries")) continue;
    folders.push_back(site + "/" + name + "/lib/rocblas/library");
  }
  if (contains(in_lib, "hipblaslt")) folders.push_back(site + "/torch/lib/hipblaslt/library");
  for (const std::string& rocm : own_rocm ? Names{} : rocm_library_folders(files)) {
    folders.push_back(rocm + "/rocblas/library");
  }
  return folders;
}

void read_targets(const Files& files, const Names& folders, Torch& torch) {
  torch.targets = {Missing{Why::not_present, "it ships no code objects that name their target"},
                   Source{folders.front(), 0, ""}};
  for (const std::string& folder : folders) {
    const auto names = files.list(folder);
    if (!names) continue;
    auto targets = facts::find_targets(*names);
    if (targets.empty()) continue;
    torch.targets = {std::move(targets), Source{folder, 0, ""}};
    return;
  }
}

void read_attention(const Files& files, const std::string& lib, const Names& in_lib, Torch& torch) {
  const std::string folder = lib + "/aotriton.images";
  torch.attention = {Missing{Why::not_present, "no folder aotriton.images"}, Source{folder, 0, ""}};
  const auto names =
      contains(in_lib, "aotriton.images") ? files.list(folder) : Result<Names>(Names{});
  if (!names || names->empty()) return;
  Names families;
  for (const std::string& name : *names) {
    if (name.starts_with("amd-gfx")) families.push_back(name.substr(4));
  }
  if (!families.empty()) torch.attention = {std::move(families), Source{folder, 0, ""}};
}

Torch read_torch(const Files& files, const std::string& site, const Names& in_site) {
  Torch torch = facts::parse_torch_version(read_text(files, site + "/torch/version.py"));
  const std::string lib = site + "/torch/lib";
  const Source source{lib, 0, ""};
  if (!torch.kind || *torch.kind != facts::TorchKind::rocm) {
    const Missing none{Why::not_applicable, "no build for ROCm"};
    torch.targets = {none, source};
    torch.attention = {none, source};
    torch.own_rocm = {none, source};
    return torch;
  }
  const auto listed = files.list(lib);
  const Names in_lib = listed ? *listed : Names{};
  const bool own = any_begins(in_lib, "libamdhip64") || any_begins(in_site, "_rocm_sdk_");
  torch.own_rocm = listed ? facts::Fact<bool>(own, source)
                          : facts::Fact<bool>(to_missing(listed.error()), source);
  read_targets(files, target_folders(files, site, in_site, in_lib, own), torch);
  read_attention(files, lib, in_lib, torch);
  return torch;
}

bool has_package(const PythonStack& stack, const std::string& name) {
  return std::any_of(stack.packages.begin(), stack.packages.end(),
                     [&](const facts::Package& package) { return package.name == name; });
}

}  // namespace

void read_packages(const Files& files, const std::string& folder, PythonStack& stack) {
  const auto names = files.list(folder);
  if (!names) return;
  stack.folders.push_back(folder);
  for (const std::string& name : *names) {
    auto package = facts::parse_package_folder(name);
    if (!package || !facts::is_of_interest(package->name) || has_package(stack, package->name)) {
      continue;
    }
    package->path = folder + "/" + name;
    stack.packages.push_back(*std::move(package));
  }
  if (!stack.torch_folder.empty() || !contains(*names, "torch")) return;
  if (!files.exists(folder + "/torch/version.py")) return;
  stack.torch_folder = folder + "/torch";
  stack.torch = read_torch(files, folder, *names);
}

}  // namespace headroom::probe
