// SPDX-License-Identifier: Apache-2.0
#include "findings/scene.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "facts/kernel_text.h"
#include "findings/scene_parts.h"
#include "findings/scene_text.h"

namespace headroom::findings {
namespace {

using facts::Fact;
using facts::Source;
using facts::Text;
using knowledge::GpuTables;
using knowledge::Kind;
using logs::Observation;

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

Fact<Bytes> amount(const Observation& seen, std::string_view name) {
  // Programs write "MB" for MiB.
  const auto bytes = amount_in(seen.value(name));
  const auto exact = bytes ? bytes : seen.bytes(name);
  return exact ? Fact<Bytes>(*exact, source_of(seen)) : Fact<Bytes>();
}

// The names in one log. Each is looked up only once, as hundreds of lines may have the same name.
using NamesSeen = std::set<std::string, std::less<>>;

void add_gpus_of(Scene& scene, const Observation& seen, const GpuTables& tables, NamesSeen& names) {
  const Source source = source_of(seen);
  const std::vector<std::string> targets = targets_in(seen.value("gfx"));
  if (targets.empty() && names.emplace(seen.value("gpu")).second) {
    for (SceneGpu gpu : gpus_of_text(seen.value("gpu"), tables)) {
      gpu.source = source;
      add_gpu(scene, std::move(gpu), tables);
    }
  }
  // In a line with both, the target is right, and the name is as the program prints it.
  for (const std::string& target : targets) {
    SceneGpu gpu{target, std::string(trim(seen.value("gpu"))), {}, {}, {}, source};
    if (targets.size() == 1) gpu.vram = amount(seen, "vram");
    add_gpu(scene, std::move(gpu), tables);
  }
  if (const auto id = parse_hex(seen.value("device"))) {
    if (const knowledge::Device* device = tables.device(static_cast<std::uint32_t>(*id))) {
      add_gpu(scene, {device->gfx, device->name, device->integrated, {}, {}, source}, tables);
    }
  }
}

// What is kept from one line of a log to the next.
struct Readers {
  NamesSeen names;
  SettingReader settings;
};

// `env | grep NAME` that prints nothing: what an earlier line says of the variable does not reach
// programs, such as a variable of the shell that is not exported.
void drop_absent(const logs::Observation& asked, Scene& scene) {
  const std::string name(asked.value("variable"));
  const bool printed =
      std::any_of(asked.output.begin(), asked.output.end(),
                  [&](const std::string& line) { return line.find(name) != std::string::npos; });
  if (printed || name.empty()) return;
  std::erase_if(scene.settings, [&](const facts::Setting& one) {
    return one.name.find(name) != std::string::npos;
  });
}

// Whatever a signature's id is, these are the names of its values: gfx, gpu, device (PCI id), vram,
// ram, rocm, torch, torch_rocm, python, kernel, distro or system, cpu, container, setting and
// value, options.
void add_observation(Scene& scene, const Observation& seen, const GpuTables& tables,
                     Readers& readers) {
  const Source source = source_of(seen);
  const auto text = [&](std::string_view name) {
    const std::string_view value = trim(seen.value(name));
    return value.empty() ? Text() : Text(std::string(value), source);
  };
  add_gpus_of(scene, seen, tables, readers.names);
  if (seen.value("gfx").empty()) take(scene.vram, amount(seen, "vram"));
  take(scene.ram, amount(seen, "ram"));
  take(scene.rocm, text("rocm"));
  take(scene.torch, text("torch"));
  take(scene.torch_rocm, text("torch_rocm"));
  take(scene.python, text("python"));
  take(scene.machine.kernel, text("kernel"));
  take(scene.machine.distribution, text("distro"));
  take(scene.machine.distribution, text("system"));
  take(scene.cpu, text("cpu"));
  if (const auto engine = text("container")) {
    take(scene.machine.container, Text(*engine == "kubectl" ? "kubernetes" : *engine, source));
  }
  if (seen.id() == "container-prompt") take(scene.machine.container, Text("docker", source));
  if (seen.id() == "windows-words") take(scene.machine.distribution, Text("Windows", source));
  if (seen.id() == "env-asked") drop_absent(seen, scene);
  for (facts::Setting& setting : readers.settings.read(seen)) {
    scene.settings.push_back(std::move(setting));
  }
  if (const auto options = text("options")) {
    if (options->find("BOOT_IMAGE=") != std::string::npos) take(scene.cmdline, options);
    for (const auto& option : facts::parse_modprobe(options))
      scene.machine.options.push_back(option);
    for (const auto& option : facts::parse_cmdline(options))
      scene.machine.options.push_back(option);
  }
}

// An index for ROCm was named, and what runs later calls itself a build for another vendor or for
// the CPU: nothing was installed from there.
void drop_index_alone(const logs::Observations& log, Scene& scene) {
  const Observation* built = log.last("cuda-build");
  if (built == nullptr || !scene.torch_rocm) return;
  const auto is_source = [&](const Observation* one) {
    return one->log_name == scene.torch_rocm.source().path &&
           static_cast<int>(one->line) == scene.torch_rocm.source().line;
  };
  const auto named = log.of("torch-wheel-index");
  if (std::none_of(named.begin(), named.end(), is_source)) return;
  const auto is_behind = [&](const Observation* one) {
    return one->log == built->log && one->line > built->line;
  };
  // It may be the remedy, named behind the line that shows the wrong build.
  if (std::any_of(named.begin(), named.end(), is_behind)) return;
  scene.torch_rocm = Text();
}

constexpr std::string_view told_card = "card-told";

// A card that is only mentioned may be another machine's, unless nothing else names a GPU, or only
// an integrated one that sits in desktop processors: who mentions a card there has it beside it.
void add_told_cards(Scene& scene, const logs::Observations& log, const GpuTables& tables) {
  const bool only_desktop_igpu = scene.gpus.size() == 1 && scene.gpus.front().gfx == "gfx1036";
  if (!scene.gpus.empty() && !only_desktop_igpu) return;
  NamesSeen names;
  for (const Observation* seen : log.of(told_card)) add_gpus_of(scene, *seen, tables, names);
}

// Takes the VRAM of the GPU that a job would use: a discrete one before an integrated one.
void choose_vram(Scene& scene) {
  for (const bool integrated : {false, true}) {
    for (const SceneGpu& gpu : scene.gpus) {
      if (gpu.integrated.value_or(false) == integrated) take(scene.vram, gpu.vram);
    }
  }
}

void add_stated_gpus(Scene& scene, const facts::Stated& stated, const GpuTables& tables) {
  const Text name = stated.get("gpu");
  const Text gfx = stated.get("gfx");
  std::vector<SceneGpu> named;
  if (name) named = gpus_of_text(*name, tables);
  if (gfx) {
    const std::vector<std::string> targets = targets_in(*gfx);
    for (const std::string& target : targets) {
      // Of several targets the name is nobody's alone.
      SceneGpu gpu{target, name && targets.size() == 1 ? *name : "", {}, {}, {}, gfx.source()};
      const auto same = std::find_if(named.begin(), named.end(),
                                     [&](const SceneGpu& one) { return one.gfx == target; });
      if (same != named.end()) gpu.name = same->name;
      add_gpu(scene, std::move(gpu), tables);
    }
  }
  // Cards older than the tables are recognised by name.
  static const RE2 older(R"((?i)\b(?:HD ?\d{4}|R[579] ?[M\d]\d\d|FirePro \w?\d{3,4})\w*)");
  if (named.empty() && !gfx && name && RE2::PartialMatch(*name, older)) {
    scene.gpus.push_back({"", *name, {}, {}, {}, name.source()});
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
  if (const Text container = stated.get("container"); container && is_container(*container)) {
    scene.machine.container = container;
  }
  take(scene.cpu, stated.get("cpu"));
  take(scene.framework, stated.get("framework"));
  if (scene.framework) {
    const TorchVersion found = torch_in(*scene.framework);
    const Source source = scene.framework.source();
    if (!found.torch.empty()) take(scene.torch, Text(found.torch, source));
    if (!found.rocm.empty()) take(scene.torch_rocm, Text(found.rocm, source));
  }
  const Text env = stated.get("env");
  if (env && !says_unexported(*env)) {
    for (auto setting : facts::parse_snippet(env, facts::Scope::given)) {
      // The words around it tell whether it was in force or only tried.
      if (says_tried(*env)) setting.source.text = *env;
      scene.settings.push_back(std::move(setting));
    }
  }
  take(scene.cmdline, stated.get("cmdline"));
  if (const Text line = stated.get("cmdline")) {
    for (const auto& option : facts::parse_cmdline(line)) scene.machine.options.push_back(option);
  }
}

}  // namespace

Source source_of(const Observation& seen) {
  return {seen.log_name, static_cast<int>(seen.line), seen.text};
}

void add_gpu(Scene& scene, SceneGpu gpu, const GpuTables& tables) {
  if (const knowledge::Target* target = tables.target(gpu.gfx)) {
    if (target->kind != Kind::both) gpu.integrated = target->kind == Kind::integrated;
    if (gpu.name.empty()) gpu.name = target->chip;
  }
  for (SceneGpu& known : scene.gpus) {
    if (known.gfx != gpu.gfx) continue;
    if (gpu.gfx.empty() && known.name != gpu.name) continue;
    const knowledge::Target* target = tables.target(known.gfx);
    const bool chip_only = target != nullptr && known.name == target->chip;
    if ((known.name.empty() || chip_only) && !gpu.name.empty()) known.name = gpu.name;
    if (!known.vram) known.vram = gpu.vram;
    if (!known.pool) known.pool = gpu.pool;
    if (!known.integrated) known.integrated = gpu.integrated;
    return;
  }
  scene.gpus.push_back(std::move(gpu));
}

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
  for (const knowledge::NamedCard& card : tables.card_names.find(text)) {
    SceneGpu gpu{card.gfx, card.name, {}, {}, {}, {}};
    const Kind kind = tables.target(card.gfx)->kind;
    if (kind != Kind::both) gpu.integrated = kind == Kind::integrated;
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
  date_kernel(scene, log);
  Readers readers;
  for (const Observation& seen : log.all()) {
    if (seen.id() != told_card) add_observation(scene, seen, tables, readers);
  }
  drop_index_alone(log, scene);
  add_agents(scene, log, tables);
  add_outputs(scene, log);
  choose_vram(scene);
  add_stated(scene, stated, tables);
  add_told_cards(scene, log, tables);
  if (scene.machine.distribution && !scene.machine.distribution_id) {
    const Text& name = scene.machine.distribution;
    scene.machine.distribution_id = Text(distribution_id_of(*name), name.source());
  }
  scene.vendor = infer_vendor(scene, log, stated);
  return scene;
}

}  // namespace headroom::findings
