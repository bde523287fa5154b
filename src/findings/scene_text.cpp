// SPDX-License-Identifier: Apache-2.0
#include "findings/scene_text.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace headroom::findings {
namespace {

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

std::optional<Bytes> amount_in(std::string_view text) {
  static const RE2 pattern(R"((?i)(\d+(?:\.\d+)?)\s*([KMGT])(i?)B\b)");
  std::string number, unit, binary;
  if (!RE2::PartialMatch(piece(text), pattern, &number, &unit, &binary)) return std::nullopt;
  const auto amount = parse_bytes(number + unit + "iB");
  return amount ? std::optional(*amount) : std::nullopt;
}

std::optional<std::string> version_in(std::string_view text) {
  static const RE2 pattern(R"((\d+(?:\.\d+)+))");
  static const RE2 whole(R"(^\s*(\d+)\b)");
  std::string version;
  if (RE2::PartialMatch(piece(text), pattern, &version)) return version;
  if (RE2::PartialMatch(piece(text), whole, &version)) return version;
  return std::nullopt;
}

std::vector<std::string> targets_in(std::string_view text) {
  static const RE2 pattern(R"((?i)\b(gfx[0-9][0-9a-fx]{2,4}))");
  std::vector<std::string> targets;
  re2::StringPiece rest = piece(text);
  std::string target;
  while (RE2::FindAndConsume(&rest, pattern, &target)) {
    target = to_lower(target);
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) {
      targets.push_back(target);
    }
  }
  return targets;
}

TorchVersion torch_in(std::string_view text) {
  static const RE2 pattern(
      R"((?i)\b(?:torch|pytorch)(?:[ =:v]|version)*(\d+\.\d+(?:\.\d+)?[\w.]*))");
  static const RE2 rocm(R"(\+rocm(?:sdk)?(\d+(?:\.\d+)*))");
  static const RE2 cuda(R"(\+cu(\d+))");
  static const RE2 cpu(R"(\d\+cpu\b)");
  TorchVersion version;
  RE2::PartialMatch(piece(text), pattern, &version.torch);
  RE2::PartialMatch(piece(text), rocm, &version.rocm);
  RE2::PartialMatch(piece(text), cuda, &version.cuda);
  version.cpu = RE2::PartialMatch(piece(text), cpu);
  return version;
}

std::string distribution_id_of(std::string_view name) {
  struct Known {
    std::string_view word, id;
  };
  // Derivatives come first, because their names may contain the name of the distribution that they
  // derive from.
  constexpr std::array known = {
      Known{"mint", "linuxmint ubuntu debian"},
      Known{"pop!_os", "pop ubuntu debian"},
      Known{"pop_os", "pop ubuntu debian"},
      Known{"kde neon", "neon ubuntu debian"},
      Known{"zorin", "zorin ubuntu debian"},
      Known{"elementary", "elementary ubuntu debian"},
      Known{"buntu", "ubuntu debian"},
      Known{"proxmox", "debian"},
      Known{"truenas", "debian"},
      Known{"debian", "debian"},
      Known{"bazzite", "bazzite fedora"},
      Known{"bluefin", "bazzite fedora"},
      Known{"aurora", "bazzite fedora"},
      Known{"silverblue", "bazzite fedora"},
      Known{"kinoite", "bazzite fedora"},
      Known{"fedora", "fedora"},
      Known{"nobara", "nobara fedora"},
      Known{"rocky", "rocky rhel fedora"},
      Known{"alma", "almalinux rhel fedora"},
      Known{"centos", "centos rhel fedora"},
      Known{"red hat", "rhel fedora"},
      Known{"rhel", "rhel fedora"},
      Known{"oracle linux", "ol rhel fedora"},
      Known{"steamos", "steamos arch"},
      Known{"cachyos", "cachyos arch"},
      Known{"manjaro", "manjaro arch"},
      Known{"endeavour", "endeavouros arch"},
      Known{"garuda", "garuda arch"},
      Known{"arch", "arch"},
      Known{"suse", "opensuse suse"},
      Known{"sles", "sles suse"},
      Known{"nixos", "nixos"},
      Known{"gentoo", "gentoo"},
      Known{"windows", "windows"},
  };
  const std::string lower = to_lower(name);
  for (const Known& one : known) {
    if (lower.find(one.word) != std::string::npos) return std::string(one.id);
  }
  return "";
}

bool says_unexported(std::string_view stated) {
  static const RE2 unexported(R"((?i)\b(?:not|never|without|n['’]t) (?:\w+ )?export)");
  return RE2::PartialMatch(piece(stated), unexported);
}

bool says_tried(std::string_view stated) {
  static const RE2 tried(
      R"((?i)\b(?:tried|tries|trying|with(?: and|/| or) ?without|did(?: not|n't) help)\b)");
  return RE2::PartialMatch(piece(stated), tried);
}

bool is_container(std::string_view stated) {
  static const RE2 none(R"((?i)^\s*(?:none|no|not|n/a|bare|native|host)\b)");
  return !RE2::PartialMatch(piece(stated), none);
}

}  // namespace headroom::findings
