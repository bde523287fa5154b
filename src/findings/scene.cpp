// SPDX-License-Identifier: Apache-2.0
#include "findings/scene.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "facts/kernel_text.h"
#include "findings/scene_text.h"

namespace headroom::findings {
namespace {

using facts::Fact;
using facts::Source;
using facts::Text;
using knowledge::GpuTables;
using knowledge::Kind;
using logs::Observation;

Source source_of(const Observation& seen) {
  return {fmt::format("log {}", seen.log + 1), static_cast<int>(seen.line), seen.text};
}

// Joins what two places say of one GPU: the same target, or a name without a target.
void add_gpu(Scene& scene, SceneGpu gpu, const GpuTables& tables) {
  if (const knowledge::Target* target = tables.target(gpu.gfx)) {
    if (target->kind != Kind::both) gpu.integrated = target->kind == Kind::integrated;
    if (gpu.name.empty()) gpu.name = target->chip;
  }
  for (SceneGpu& known : scene.gpus) {
    if (known.gfx != gpu.gfx) continue;
    if (gpu.gfx.empty() && known.name != gpu.name) continue;
    if (!known.vram) known.vram = gpu.vram;
    if (!known.pool) known.pool = gpu.pool;
    if (!known.integrated) known.integrated = gpu.integrated;
    return;
  }
  scene.gpus.push_back(std::move(gpu));
}

template <class T>
void take(Fact<T>& fact, const Fact<T>& other) {
  if (!fact && other) fact = other;
}

void add_measured(Scene& scene, const facts::Facts& measured, const GpuTables& tables) {
  scene.measured = &measured;
  scene.machine = measured.machine;
  scene.ram = measured.machine.memory.total;
  scene.rocm = measured.machine.rocm;
  scene.torch = measured.python.torch.version;
  scene.torch_rocm = measured.python.torch.rocm;
  scene.python = measured.python.version;
  scene.settings = measured.environment.settings;
  for (const facts::Gpu& gpu : measured.gpus) {
    SceneGpu one{gpu.gfx ? *gpu.gfx : "", gpu.name, gpu.integrated.optional(),
                 gpu.vram_total,          gpu.pool, gpu.gfx.source()};
    add_gpu(scene, std::move(one), tables);
  }
  if (!measured.gpus.empty()) {
    scene.vendor = Fact<Vendor>(Vendor::amd, measured.gpus.front().vendor.source());
  }
}

// What signatures' values are called, whatever their ids: gfx, gpu, device (PCI id), vram, ram,
// rocm, torch, torch_rocm, python, kernel, distro, setting and value, options.
void add_observation(Scene& scene, const Observation& seen, const GpuTables& tables) {
  const Source source = source_of(seen);
  const auto text = [&](std::string_view name) {
    const std::string_view value = trim(seen.value(name));
    return value.empty() ? Text() : Text(std::string(value), source);
  };
  if (const auto name = text("gpu")) {
    for (SceneGpu gpu : gpus_of_text(*name, tables)) {
      gpu.source = source;
      add_gpu(scene, std::move(gpu), tables);
    }
  }
  if (const auto gfx = text("gfx")) {
    for (const std::string& target : targets_in(*gfx)) {
      add_gpu(scene, {target, "", {}, {}, {}, source}, tables);
    }
  }
  if (const auto id = parse_hex(seen.value("device"))) {
    if (const knowledge::Device* device = tables.device(static_cast<std::uint32_t>(*id))) {
      add_gpu(scene, {device->gfx, device->name, device->integrated, {}, {}, source}, tables);
    }
  }
  const auto amount = [&](std::string_view name) {
    const auto bytes = seen.bytes(name);
    return bytes ? Fact<Bytes>(*bytes, source) : Fact<Bytes>();
  };
  take(scene.vram, amount("vram"));
  take(scene.ram, amount("ram"));
  take(scene.rocm, text("rocm"));
  take(scene.torch, text("torch"));
  take(scene.torch_rocm, text("torch_rocm"));
  take(scene.python, text("python"));
  take(scene.machine.kernel, text("kernel"));
  take(scene.machine.distribution, text("distro"));
  if (const auto name = text("setting"); name && text("value")) {
    scene.settings.push_back(
        {*name, *text("value"), source, facts::Scope::given, facts::Form::bare, 0, true});
  }
  if (const auto options = text("options")) {
    if (options->find("BOOT_IMAGE=") != std::string::npos) take(scene.cmdline, options);
    for (auto option : facts::parse_modprobe(options)) scene.machine.options.push_back(option);
    for (auto option : facts::parse_cmdline(options)) scene.machine.options.push_back(option);
  }
}

void add_stated_gpus(Scene& scene, const facts::Stated& stated, const GpuTables& tables) {
  const Text name = stated.get("gpu");
  const Text gfx = stated.get("gfx");
  std::vector<SceneGpu> named;
  if (name) named = gpus_of_text(*name, tables);
  if (gfx) {
    for (const std::string& target : targets_in(*gfx)) {
      SceneGpu gpu{target, name ? *name : "", {}, {}, {}, gfx.source()};
      const auto same = std::find_if(named.begin(), named.end(),
                                     [&](const SceneGpu& one) { return one.gfx == target; });
      if (same != named.end()) gpu.name = same->name;
      add_gpu(scene, std::move(gpu), tables);
    }
  }
  for (SceneGpu& gpu : named) {
    gpu.source = name.source();
    add_gpu(scene, std::move(gpu), tables);
  }
}

void add_stated(Scene& scene, const facts::Stated& stated, const GpuTables& tables) {
  add_stated_gpus(scene, stated, tables);
  const auto amount = [&](std::string_view key) {
    const Text text = stated.get(key);
    const auto bytes = text ? amount_in(*text) : std::nullopt;
    return bytes ? Fact<Bytes>(*bytes, text.source()) : Fact<Bytes>();
  };
  const auto version = [&](std::string_view key) {
    const Text text = stated.get(key);
    const auto found = text ? version_in(*text) : std::nullopt;
    return found ? Text(*found, text.source()) : Text();
  };
  take(scene.vram, amount("vram"));
  take(scene.ram, amount("ram"));
  take(scene.rocm, version("rocm"));
  take(scene.python, version("python"));
  take(scene.machine.kernel, version("kernel") ? stated.get("kernel") : Text());
  take(scene.machine.distribution, stated.get("distro"));
  take(scene.machine.container, stated.get("container"));
  take(scene.cpu, stated.get("cpu"));
  take(scene.framework, stated.get("framework"));
  if (scene.framework) {
    const TorchVersion found = torch_in(*scene.framework);
    const Source source = scene.framework.source();
    if (!found.torch.empty()) take(scene.torch, Text(found.torch, source));
    if (!found.rocm.empty()) take(scene.torch_rocm, Text(found.rocm, source));
  }
  if (const Text env = stated.get("env")) {
    for (auto setting : facts::parse_snippet(env, facts::Scope::given)) {
      scene.settings.push_back(std::move(setting));
    }
  }
  take(scene.cmdline, stated.get("cmdline"));
  if (const Text line = stated.get("cmdline")) {
    for (auto option : facts::parse_cmdline(line)) scene.machine.options.push_back(option);
  }
}

Fact<Vendor> vendor_of_text(const Text& text) {
  if (!text) return {};
  const std::string word = to_lower(*text);
  const auto has = [&](std::string_view part) { return word.find(part) != std::string::npos; };
  const auto is = [&](Vendor vendor) { return Fact<Vendor>(vendor, text.source()); };
  if (has("nvidia") || has("geforce") || has("tesla ")) return is(Vendor::nvidia);
  if (has("none") || has("cpu only")) return is(Vendor::none);
  if (has("amd") || has("radeon") || has("instinct")) return is(Vendor::amd);
  if (has("intel")) return is(Vendor::intel);
  if (has("apple")) return is(Vendor::apple);
  return {};
}

// What the lines show outweighs what was stated where the two agree on a vendor's own words; AMD's
// words outweigh the others', because tools for NVIDIA are looked for on every machine.
Fact<Vendor> infer_vendor(const Scene& scene, const logs::Observations& log,
                          const facts::Stated& stated) {
  if (scene.vendor) return scene.vendor;
  const Fact<Vendor> said = vendor_of_text(stated.get("vendor"));
  if (said) return said;
  if (const Observation* seen = log.first("amd-words")) return {Vendor::amd, source_of(*seen)};
  if (!scene.gpus.empty()) return {Vendor::amd, scene.gpus.front().source};
  for (const auto& [id, vendor] :
       {std::pair("nvidia-words", Vendor::nvidia), std::pair("intel-words", Vendor::intel),
        std::pair("apple-words", Vendor::apple)}) {
    if (const Observation* seen = log.first(id)) return {vendor, source_of(*seen)};
  }
  return vendor_of_text(stated.get("gpu"));
}

}  // namespace

std::string_view to_string(Vendor vendor) {
  switch (vendor) {
    case Vendor::amd:
      return "AMD";
    case Vendor::nvidia:
      return "NVIDIA";
    case Vendor::intel:
      return "Intel";
    case Vendor::apple:
      return "Apple";
    case Vendor::none:
      break;
  }
  return "none";
}

std::vector<SceneGpu> gpus_of_text(std::string_view text, const GpuTables& tables) {
  std::vector<SceneGpu> gpus;
  for (const auto& [gfx, target] : tables.targets) {
    if (target.names.empty()) continue;
    const RE2 names("(" + target.names + ")", RE2::Quiet);
    std::string name;
    if (!RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), names, &name)) continue;
    SceneGpu gpu{gfx, name, {}, {}, {}, {}};
    if (target.kind != Kind::both) gpu.integrated = target.kind == Kind::integrated;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

const facts::Setting* Scene::setting(std::string_view name) const {
  const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                  [&](const facts::Setting& one) { return one.name == name; });
  return found == settings.rend() ? nullptr : &*found;
}

const SceneGpu* Scene::gpu(std::string_view gfx) const {
  const auto found =
      std::find_if(gpus.begin(), gpus.end(), [&](const SceneGpu& one) { return one.gfx == gfx; });
  return found == gpus.end() ? nullptr : &*found;
}

const SceneGpu* Scene::integrated_gpu() const {
  const auto found = std::find_if(
      gpus.begin(), gpus.end(), [](const SceneGpu& one) { return one.integrated.value_or(false); });
  return found == gpus.end() ? nullptr : &*found;
}

const SceneGpu* Scene::discrete_gpu() const {
  const auto found = std::find_if(
      gpus.begin(), gpus.end(), [](const SceneGpu& one) { return !one.integrated.value_or(true); });
  return found == gpus.end() ? nullptr : &*found;
}

std::string Scene::gfx() const {
  std::string only;
  for (const bool integrated : {false, true}) {
    for (const SceneGpu& one : gpus) {
      if (one.gfx.empty() || one.integrated.value_or(false) != integrated) continue;
      if (!only.empty() && only != one.gfx) return "";
      only = one.gfx;
    }
    if (!only.empty()) return only;
  }
  return only;
}

Scene make_scene(const logs::Observations& log, const facts::Stated& stated,
                 const facts::Facts* measured, const GpuTables& tables) {
  Scene scene;
  if (measured != nullptr) add_measured(scene, *measured, tables);
  for (const Observation& seen : log.all()) add_observation(scene, seen, tables);
  add_stated(scene, stated, tables);
  scene.vendor = infer_vendor(scene, log, stated);
  return scene;
}

}  // namespace headroom::findings
