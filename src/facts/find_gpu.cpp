// SPDX-License-Identifier: Apache-2.0
#include "facts/find_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "base/text.h"

namespace headroom::facts {
namespace {

using Found = std::vector<const Gpu*>;

// Letters and digits without the maker's words, which people leave out.
std::string short_name(std::string_view name) {
  std::string letters;
  for (const char c : to_lower(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) letters += c;
  }
  for (const std::string_view maker : {"amd", "radeon"}) {
    if (letters.starts_with(maker)) letters.erase(0, maker.size());
  }
  return letters;
}

template <class IsMeant>
Found those_that(const Facts& facts, IsMeant is_meant) {
  Found found;
  for (const Gpu& gpu : facts.gpus) {
    if (is_meant(gpu)) found.push_back(&gpu);
  }
  return found;
}

// "0000:03:00.0 (Radeon RX 7900 XT, HIP index 0)".
std::string list(const Found& gpus) {
  std::vector<std::string> names;
  for (const Gpu* gpu : gpus) {
    const auto& index = gpu->connection.hip_index;
    names.push_back(fmt::format("{} ({}{})", gpu->pci, gpu->name,
                                index ? fmt::format(", HIP index {}", *index) : ""));
  }
  return join(names, ", ");
}

}  // namespace

Result<std::vector<const Gpu*>> find_gpus(const Facts& facts, std::string_view word) {
  const std::string tail = ":" + std::string(word);
  Found found = those_that(facts, [&](const Gpu& gpu) {
    return word.empty() || gpu.pci == word || gpu.pci.ends_with(tail);
  });
  if (!found.empty() || facts.gpus.empty()) return found;
  if (const auto index = parse_u64(word)) {
    found = those_that(facts, [&](const Gpu& gpu) {
      const auto& own = gpu.connection.hip_index;
      return own && *own == *index;
    });
  } else if (const std::string name = short_name(word); !name.empty()) {
    found = those_that(facts, [&](const Gpu& gpu) { return short_name(gpu.name) == name; });
  }
  if (found.size() == 1) return found;
  if (found.empty()) {
    return Error{Errc::invalid,
                 fmt::format("--gpu {}: expected one of {}", word,
                             list(those_that(facts, [](const Gpu&) { return true; }))),
                 ""};
  }
  return Error{Errc::invalid,
               fmt::format("--gpu {}: expected one GPU, found {} of that name: {}", word,
                           found.size(), list(found)),
               ""};
}

std::string pci_of_index(const Facts& facts, std::optional<std::uint64_t> hip_index) {
  for (const Gpu& gpu : facts.gpus) {
    const auto& own = gpu.connection.hip_index;
    if (hip_index && own && *own == *hip_index) return gpu.pci;
  }
  return "";
}

}  // namespace headroom::facts
