// SPDX-License-Identifier: Apache-2.0
#include "report/gpus_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/style.h"

namespace headroom::report {
namespace {

using knowledge::GpuTables;
using knowledge::Target;

constexpr std::size_t page_width = 110;

std::string paragraph(std::string_view text) {
  return fold(text, "", page_width) + "\n";
}

std::string releases(const Target& target, const std::string& current) {
  if (!target.rocm_first) return "never";
  const auto about = [](bool is) { return is ? "~" : ""; };
  return fmt::format("{}{} – {}{}", about(target.about_first), *target.rocm_first,
                     about(target.about_last), target.rocm_last.value_or(current));
}

std::string kind(const Target& target) {
  switch (target.kind) {
    case knowledge::Kind::integrated:
      return "integrated";
    case knowledge::Kind::discrete:
      return "discrete";
    case knowledge::Kind::both:
      break;
  }
  return "both";
}

std::string builds(const Target& target) {
  switch (target.therock) {
    case knowledge::TheRock::ready:
      return "tested";
    case knowledge::TheRock::builds:
      return "compiled";
    case knowledge::TheRock::none:
      break;
  }
  return "–";
}

// Who has PyTorch wheels with its code, the best first.
std::string wheels(const GpuTables& tables, const Target& target) {
  std::vector<std::string> parts;
  if (target.torch == knowledge::TorchWheels::current) parts.emplace_back("PyTorch");
  if (target.therock != knowledge::TheRock::none) parts.emplace_back("TheRock");
  if (const auto* stack = tables.stack(target.gfx)) parts.push_back("`" + stack->torch + "`");
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string reset(const std::optional<knowledge::Reset>& method) {
  if (!method) return "–";
  switch (*method) {
    case knowledge::Reset::mode1:
      return "mode1, VRAM lost";
    case knowledge::Reset::mode2:
      return "mode2, memory kept";
    case knowledge::Reset::baco_or_mode1:
      return "BACO or mode1, VRAM lost";
    case knowledge::Reset::baco_or_legacy:
      break;
  }
  return "BACO or PCI, VRAM lost";
}

// "gfx90c" before "gfx1010": by version, not by letters.
std::vector<const Target*> in_order(const GpuTables& tables) {
  std::vector<const Target*> targets;
  for (const auto& [gfx, target] : tables.targets) targets.push_back(&target);
  std::sort(targets.begin(), targets.end(), [](const Target* a, const Target* b) {
    return std::pair(a->gfx.size(), a->gfx) < std::pair(b->gfx.size(), b->gfx);
  });
  return targets;
}

std::string target_table(const GpuTables& tables) {
  std::string text =
      "| target | chips | cards | kind | support | ROCm lists it | TheRock | wheels | sure | from "
      "|\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Target* target : in_order(tables)) {
    text += fmt::format(
        "| `{}` | {}: {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", target->gfx, target->family,
        target->chip, target->cards, kind(*target), to_string(knowledge::support_of(*target)),
        releases(*target, tables.current_rocm), builds(*target), wheels(tables, *target),
        to_string(target->origin.certainty), target->origin.source);
  }
  return text;
}

std::string details(const GpuTables& tables) {
  std::string text =
      "| target | the driver's reset | also runs code for | left out by TheRock | to know |\n"
      "|---|---|---|---|---|\n";
  for (const Target* target : in_order(tables)) {
    std::vector<std::string> notes;
    if (!target->note.empty()) notes.push_back(target->note);
    if (target->large_register_file) {
      notes.emplace_back("It has 1.5 times the vector registers of its relatives.");
    }
    if (target->pcie_atomics) {
      notes.push_back(target->mec_without_atomics
                          ? fmt::format("Needs PCIe atomics below MEC firmware {}.",
                                        *target->mec_without_atomics)
                          : std::string("Needs PCIe atomics."));
    }
    std::string how = reset(target->reset);
    if (target->reset_integrated) how += "; integrated: " + reset(target->reset_integrated);
    text +=
        fmt::format("| `{}` | {} | {} | {} | {} |\n", target->gfx, how,
                    target->generic.empty() ? "–" : "`" + target->generic + "`",
                    target->without.empty() ? "–" : join(target->without, ", "), join(notes, " "));
  }
  return text;
}

std::string override_table(const GpuTables& tables) {
  std::string text =
      "| on | value | risk | why | sure | from |\n"
      "|---|---|---|---|---|---|\n";
  for (const Target* target : in_order(tables)) {
    for (const auto& [value, judged] : target->overrides) {
      text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", target->gfx,
                          value == "*" ? "any other" : "`" + value + "`", to_string(judged.risk),
                          judged.why, to_string(judged.origin.certainty), judged.origin.source);
    }
  }
  return text;
}

std::string ranges(const std::vector<knowledge::VersionRange>& all) {
  std::vector<std::string> parts;
  for (const auto& range : all) {
    parts.push_back(range.since == "0" ? "before " + range.before
                                       : fmt::format("{} to before {}", range.since, range.before));
  }
  return join(parts, ", ");
}

std::string conditions(const GpuTables& tables, const knowledge::Advisory& advisory) {
  std::vector<std::string> parts;
  if (!advisory.gfx.empty()) parts.push_back(join(advisory.gfx, ", "));
  if (advisory.integrated) parts.emplace_back("integrated GPUs");
  if (advisory.kernel) parts.push_back("Linux " + ranges({*advisory.kernel}));
  if (const auto* fix = tables.advisories.fix(advisory.without_fix)) {
    parts.push_back("a kernel without " + fix->what);
  }
  if (const auto* fix = tables.advisories.fix(advisory.with_fix)) {
    parts.push_back("a kernel with " + fix->what);
  }
  if (!advisory.rocm.empty()) parts.push_back("ROCm " + ranges(advisory.rocm));
  if (advisory.firmware) {
    parts.push_back(
        fmt::format("{} firmware {:#x}", advisory.firmware->name, advisory.firmware->is));
  }
  return join(parts, "; ");
}

std::string advisory_table(const GpuTables& tables) {
  std::string text =
      "| id | where | effect | what happens | what to do | sure | from |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const knowledge::Advisory& advisory : tables.advisories.rows) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", advisory.id,
                        conditions(tables, advisory), to_string(advisory.effect), advisory.happens,
                        join(advisory.to_do, " "), to_string(advisory.origin.certainty),
                        advisory.origin.source);
  }
  return text;
}

std::string fix_list(const GpuTables& tables) {
  std::string text;
  for (const knowledge::KernelFix& fix : tables.advisories.fixes) {
    std::string entry =
        fmt::format("{} ({}): Linux {}", fix.what, to_string(fix.origin.certainty), fix.mainline);
    for (const auto& ubuntu : fix.ubuntu) {
      entry += fmt::format("; Ubuntu {} {}-{}", ubuntu.flavour, ubuntu.series, ubuntu.package);
    }
    std::vector<std::string> carriers;
    for (const auto& [distribution, since] : fix.may_carry) {
      carriers.push_back(fmt::format("{} ({} on)", distribution, since));
    }
    entry += "; it cannot be told of: " + join(carriers, ", ");
    text += fold(entry, "- ", page_width);
  }
  return text;
}

}  // namespace

std::string gpus_page(const GpuTables& tables) {
  std::string page = "# AMD GPUs, target by target\n\n";
  page += paragraph(
      "Generated from the tables in `data/`, which `headroom check` uses. A card's name does not "
      "always tell its target (two chips share the name Radeon 840M). `headroom check` reads the "
      "target from the driver.");
  page += paragraph(fmt::format(
      "**Support** is as of ROCm {}: *official*, AMD lists it; *community*, TheRock, AMD's open "
      "build, releases ROCm and PyTorch for it; *dropped*, an older ROCm listed it; *override*, "
      "only the code of a closely related target runs; *unsupported*, none of these. **Wheels**: "
      "whose PyTorch wheels include it. `~` is \"about\". **Sure**: A read in source or in AMD's "
      "own data, B measured by "
      "users and consistent with the code, C secondary text, D inferred. **From**: the letters "
      "below, "
      "or an issue (`legacy#` is ROCm/legacy-rocm-build).",
      tables.current_rocm));
  page += target_table(tables) + "\n";
  for (const auto& [letter, source] : tables.sources) {
    page += fmt::format("- {}: {}\n", letter, source);
  }
  page += "\n## What else to know of each\n\n" +
          paragraph("A reset by the driver ends every job on the GPU, the desktop included.") +
          details(tables);
  page += "\n## HSA_OVERRIDE_GFX_VERSION\n\n" +
          paragraph(
              "It makes ROCm treat the GPU as another target. Any value that is not listed here, "
              "and is not the target's own, is dangerous. If a wheel includes the target itself, "
              "use no override.") +
          override_table(tables);
  page += "\n## Known-bad combinations\n\n" + advisory_table(tables);
  page += "\nThe kernel changes that these need, and the first kernels that have them:\n\n" +
          fix_list(tables);
  return page;
}

}  // namespace headroom::report
