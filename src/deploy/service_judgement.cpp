// SPDX-License-Identifier: Apache-2.0
#include "deploy/service_judgement.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "deploy/image_claim.h"

namespace headroom::deploy {
namespace {

using Answer = ServiceRemark::Answer;

bool concerns_a_gpu(const DescribedService& service) {
  const Settings& settings = service.settings;
  const bool for_cuda = settings.image && parse_image_claim(*settings.image).cuda;
  return is_for_rocm(settings) || for_cuda || is_given(settings, "/dev/kfd") ||
         is_given(settings, "/dev/dri");
}

// What makes compose refuse the file, or podman the service; nullptr: nothing that is known.
const Elsewhere* refused_place(const DescribedService& service) {
  const auto place = std::find_if(service.elsewhere.begin(), service.elsewhere.end(),
                                  [](const Elsewhere& one) { return one.refused; });
  return place == service.elsewhere.end() ? nullptr : &*place;
}

const Elsewhere* unread_base(const DescribedService& service) {
  const auto base =
      std::find_if(service.elsewhere.begin(), service.elsewhere.end(),
                   [](const Elsewhere& one) { return one.is_base() && !one.refused; });
  return base == service.elsewhere.end() ? nullptr : &*base;
}

// The GPU that decides if nothing here can run ROCm: every one of them is unsuited.
const findings::Suitability* unsuited(const findings::Diagnosis& diagnosis) {
  const findings::Suitability* worst = nullptr;
  for (const auto& one : diagnosis.suitability) {
    if (!one || one->level != findings::Level::no) return nullptr;
    worst = &*one;
  }
  return worst;
}

class Judge {
 public:
  Judge(const facts::Facts& facts, const findings::Diagnosis& diagnosis,
        const knowledge::GpuTables& tables)
      : facts_(facts), diagnosis_(diagnosis), tables_(tables), unsuited_(unsuited(diagnosis)) {}

  ServiceJudgement judge(const DescribedService& service) {
    ServiceJudgement judged{service.name, {}};
    const auto add = [&judged](std::optional<ServiceRemark> remark) {
      if (remark) judged.remarks.push_back(*std::move(remark));
    };
    add(misplaced(service));
    add(broken_place(service));
    // Where the GPU is nothing to it, only whether its file can be read matters.
    if (!concerns_a_gpu(service)) {
      add(unread(service));
      return judged;
    }
    add(image(service));
    add(devices(service));
    add(memory(service));
    add(health(service));
    add(not_read(service));
    return judged;
  }

 private:
  static std::optional<ServiceRemark> misplaced(const DescribedService& service) {
    if (service.misplaced.empty()) return std::nullopt;
    const std::string keys = join(service.misplaced, ", ");
    return ServiceRemark{
        "file", keys, Answer::misfits,
        "Podman refuses a quadlet with an unknown key in [Container], so there is no service",
        fmt::format("move {} to a section [Service]", keys)};
  }

  static std::optional<ServiceRemark> broken_place(const DescribedService& service) {
    const Elsewhere* place = refused_place(service);
    if (place == nullptr) return std::nullopt;
    const bool no_file = !place->file.empty() && place->why.find("no service") == std::string::npos;
    const char* refuses = service.kind == FileKind::compose ? "Compose refuses this file"
                                                            : "Podman does not start the service";
    return ServiceRemark{"file", place->key, Answer::misfits,
                         fmt::format("{}, because \"{}\" names {}: {}", refuses, place->key,
                                     name_of(*place), place->why),
                         no_file ? fmt::format("put that file at {}, or remove the key \"{}\"",
                                               place->file, place->key)
                                 : "name a service that is there, or remove the key \"extends\""};
  }

  static std::string name_of(const Elsewhere& place) {
    if (place.holds_variables()) return place.file;
    return place.service.empty() ? "nothing" : place_of(place);
  }

  std::string gpus() const {
    std::vector<std::string> names;
    for (const facts::Gpu& gpu : facts_.gpus) {
      const std::string name = gpu.gfx ? fmt::format("{} ({})", gpu.name, *gpu.gfx) : gpu.name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names.empty() ? "no AMD GPU" : join(names, ", ");
  }

  bool no_gpu_for_rocm() const { return unsuited_ != nullptr || facts_.gpus.empty(); }

  std::optional<ServiceRemark> image(const DescribedService& service) const {
    if (!service.settings.image) return std::nullopt;
    const std::string& name = *service.settings.image;
    ServiceRemark remark{"image", name, Answer::fits, "", "", service.image_line};
    if (is_for_rocm(service.settings) && no_gpu_for_rocm()) {
      remark.answer = Answer::misfits;
      remark.says = fmt::format(
          "It is a build for ROCm, but this machine has {}: {}", gpus(),
          facts_.gpus.empty()
              ? "it would run on the CPU, or not at all"
              : "the service starts, looks healthy, and crashes when it loads its first model");
      remark.advice = for_cpu(service, name);
      return remark;
    }
    const GateCheck check = check_image(name, facts_, tables_);
    if (check.answer == GateCheck::Answer::refused) {
      remark.answer = Answer::misfits;
      remark.says = "It " + check.says.substr(name.size() + 1);
      remark.advice = no_gpu_for_rocm() ? for_cpu(service, name)
                                        : "choose an image of a ROCm build that supports this GPU";
    } else if (check.answer == GateCheck::Answer::unknown && no_gpu_for_rocm()) {
      remark.says = "Its name does not ask for ROCm, and a service on the CPU needs no GPU";
    } else if (check.answer == GateCheck::Answer::unknown) {
      remark.answer = Answer::note;
      // The name shows its ROCm, so the doubt is whether that one is new enough.
      const bool old = !parse_image_claim(name).rocm.empty();
      remark.says = old ? check.says : "Its name does not show what is in it";
      if (old) remark.advice = "choose an image of a newer ROCm, or test it with a real request";
    } else {
      remark.says = check.says;
      doubt_target(remark);
    }
    return remark;
  }

  static std::string for_cpu(const DescribedService& service, const std::string& image) {
    // What is written back keeps its variables, where they are not what says rocm.
    std::string other = image_without_rocm(service.written_image);
    if (other.empty()) other = image_without_rocm(image);
    std::string words = "use the image's build for the CPU, usually the tag without \"rocm\"";
    if (other.empty()) return words;
    return fmt::format("{} ({}{})", words,
                       service.kind == FileKind::quadlet ? "Image=" : "image: ", other);
  }

  // A build for ROCm that does not say for which target: today's have no code for the GPU here.
  void doubt_target(ServiceRemark& remark) const {
    if (!parse_image_claim(remark.value).gfx.empty()) return;
    for (std::size_t i = 0; i < diagnosis_.suitability.size() && i < facts_.gpus.size(); ++i) {
      const auto& one = diagnosis_.suitability[i];
      const bool official = !one || one->route == findings::StackRoute::official;
      if (official || one->route == findings::StackRoute::none || !facts_.gpus[i].gfx) continue;
      remark.answer = Answer::note;
      remark.says += fmt::format(
          ". Its name does not show whether it has code for {}, and most builds have none. {}",
          *facts_.gpus[i].gfx, one->summary);
      // Other programs have no PyTorch that could be asked.
      const bool torch = to_lower(remark.value).find("torch") != std::string::npos;
      remark.advice = torch ? "ask it, in a container of this image: python3 -c \"import torch; "
                              "print(torch.cuda.get_arch_list())\""
                            : "test it with a real request before it goes live: headroom deploy "
                              "--init FILE, [smoke]";
      return;
    }
  }

  std::optional<ServiceRemark> devices(const DescribedService& service) const {
    const auto& given = service.settings.devices;
    ServiceRemark remark{"devices", join(given, ", "), Answer::fits, "", ""};
    const bool any =
        is_given(service.settings, "/dev/kfd") || is_given(service.settings, "/dev/dri");
    if (no_gpu_for_rocm()) {
      if (!any) return std::nullopt;
      if (!is_given(service.settings, "/dev/kfd")) {
        remark.answer = Answer::note;
        remark.says =
            "Only graphics, video and Vulkan use these; a service on the CPU does not need "
            "them";
        return remark;
      }
      remark.answer = Answer::misfits;
      remark.says = fmt::format("ROCm cannot use them here: this machine has {}", gpus());
      remark.advice = "leave /dev/kfd out, so that nothing tries ROCm; Vulkan needs only /dev/dri";
      if (service.base) {
        remark.advice = fmt::format("remove its key \"extends\", which takes them from {}",
                                    place_of(*service.base));
      }
      return remark;
    }
    std::vector<std::string> missing;
    for (const char* wanted : {"/dev/kfd", "/dev/dri"}) {
      if (!is_given(service.settings, wanted)) missing.emplace_back(wanted);
    }
    if (missing.empty()) {
      remark.says = "It has what ROCm opens: /dev/kfd and the render nodes in /dev/dri";
      return remark;
    }
    if (!is_for_rocm(service.settings) && missing.front() == "/dev/kfd") {
      remark.answer = Answer::note;
      remark.says = "Graphics and Vulkan work with these; ROCm needs /dev/kfd as well";
      return remark;
    }
    if (const Elsewhere* base = unread_base(service)) {
      remark.answer = Answer::note;
      remark.says = fmt::format(
          "ROCm opens /dev/kfd and the render nodes in /dev/dri. This file does not give {}; {} "
          "may",
          join(missing, " and "), place_of(*base));
      return remark;
    }
    remark.answer = Answer::misfits;
    remark.says = fmt::format(
        "ROCm opens /dev/kfd and the render nodes in /dev/dri, but the service is not given {}",
        join(missing, " and "));
    remark.advice = service.kind == FileKind::quadlet
                        ? "add " + join(prefixed("AddDevice=", missing), " and ")
                        : "add to devices: " + join(missing, ", ");
    return remark;
  }

  // Nothing that was read concerns a GPU; what was not may.
  static std::optional<ServiceRemark> unread(const DescribedService& service) {
    const Elsewhere* base = unread_base(service);
    if (base == nullptr) return std::nullopt;
    return ServiceRemark{
        "devices", "", Answer::note,
        fmt::format("It extends {}, which was not read and may give it a GPU's devices",
                    place_of(*base)),
        base->can_be_read() ? "name the file by its path instead of -, so that headroom reads it"
                            : "look at that file, too: headroom check --env FILE"};
  }

  static std::string place_of(const Elsewhere& one) {
    const std::string file = one.file.empty() ? "this file" : one.file;
    return one.service.empty() ? file : fmt::format("the service {} of {}", one.service, file);
  }

  static std::optional<ServiceRemark> not_read(const DescribedService& service) {
    std::vector<std::string> places;
    for (const Elsewhere& one : service.elsewhere) {
      if (!one.refused) places.push_back(describe(one));
    }
    if (places.empty()) return std::nullopt;
    return ServiceRemark{"not read", join(places, ", "), Answer::note,
                         "The service takes more from there, which is not part of this answer", ""};
  }

  static std::vector<std::string> prefixed(const std::string& key,
                                           std::vector<std::string> values) {
    for (std::string& value : values) value.insert(0, key);
    return values;
  }

  std::optional<ServiceRemark> memory(const DescribedService& service) const {
    const auto& limit = service.settings.memory;
    if (!limit) return std::nullopt;
    ServiceRemark remark{"memory", to_string(*limit), Answer::note, "", ""};
    const auto& ram = facts_.machine.memory.total;
    if (ram && *limit >= *ram) {
      remark.says =
          fmt::format("That is all of the RAM ({}), so it limits nothing", to_string(*ram));
      return remark;
    }
    remark.says =
        "The kernel kills the service above this. The limit covers host memory, through which "
        "every model is loaded, but not the GPU's own memory";
    remark.advice = "leave room for the largest model in addition to the service itself";
    return remark;
  }

  static std::optional<ServiceRemark> health(const DescribedService& service) {
    ServiceRemark remark{"health check", service.health.value_or(""), Answer::note, "", ""};
    static const RE2 only_alive(
        R"((?i)(?:/(?:ping|health|healthz|live|livez|ready|readyz|status|version)\b|https?://[^/\s]+/?(?:\s|$)|\bnc -z|^true$))");
    if (!service.health) {
      // What others extend is no service by itself.
      if (!service.settings.image) return std::nullopt;
      remark.says = "The file sets none, and the image may have none";
      remark.advice = fmt::format("add one that makes it do a little of its real work: {}",
                                  service.kind == FileKind::quadlet
                                      ? "HealthCmd=curl -fsS http://127.0.0.1:PORT/PATH"
                                      : "healthcheck: { test: [\"CMD\", \"curl\", \"-fsS\", "
                                        "\"http://127.0.0.1:PORT/PATH\"] }");
      return remark;
    }
    if (RE2::PartialMatch(*service.health, only_alive)) {
      remark.says =
          "It checks whether the service answers, not whether a model runs. A service that crashes "
          "at its first model passes it";
      remark.advice =
          "test it with a real request before it goes live: headroom deploy --init FILE, [smoke]";
      return remark;
    }
    remark.answer = Answer::fits;
    remark.says = "It runs a command of its own";
    return remark;
  }

  const facts::Facts& facts_;
  const findings::Diagnosis& diagnosis_;
  const knowledge::GpuTables& tables_;
  const findings::Suitability* unsuited_;
};

}  // namespace

std::vector<ServiceJudgement> judge_services(const std::vector<DescribedService>& services,
                                             const facts::Facts& facts,
                                             const findings::Diagnosis& diagnosis,
                                             const knowledge::GpuTables& tables) {
  Judge judge(facts, diagnosis, tables);
  std::vector<ServiceJudgement> judged;
  for (const DescribedService& service : services) {
    const bool is_open = refused_place(service) != nullptr || unread_base(service) != nullptr;
    if (concerns_a_gpu(service) || is_open) judged.push_back(judge.judge(service));
  }
  return judged;
}

bool has_misfit(const std::vector<ServiceJudgement>& services) {
  return std::any_of(services.begin(), services.end(), [](const ServiceJudgement& service) {
    return std::any_of(
        service.remarks.begin(), service.remarks.end(),
        [](const ServiceRemark& remark) { return remark.answer == Answer::misfits; });
  });
}

std::string_view to_string(ServiceRemark::Answer answer) {
  switch (answer) {
    case Answer::fits:
      return "fits";
    case Answer::note:
      return "note";
    case Answer::misfits:
      break;
  }
  return "does-not-fit";
}

}  // namespace headroom::deploy
