// SPDX-License-Identifier: Apache-2.0
#include "facts/driver_answers.h"

#include "base/text.h"

namespace headroom::facts {
namespace {

constexpr std::uint64_t fusion_flag = 0x1;  // AMDGPU_IDS_FLAGS_FUSION, amdgpu_drm.h.

Fact<Bytes> find_bytes(const Text& text, std::string_view key) {
  const auto number = find_number(text, key);
  return number ? Fact<Bytes>(Bytes{*number}, number.source()) : number.absent<Bytes>();
}

Fact<std::uint64_t> find_octal(const Text& text, std::string_view key) {
  const Text word = find_line(text, key);
  if (!word) return word.absent<std::uint64_t>();
  std::uint64_t value = 0;
  for (const char digit : *word) {
    if (digit < '0' || digit > '7' || value > 07777) {
      return {Missing{Why::not_understood, *word}, word.source()};
    }
    value = value * 8 + static_cast<std::uint64_t>(digit - '0');
  }
  return {value, word.source()};
}

}  // namespace

DriverAnswers parse_driver_answers(const Text& text) {
  DriverAnswers answers;
  const auto flags = find_number(text, "ids_flags");
  answers.fusion =
      flags ? Fact<bool>((*flags & fusion_flag) != 0, flags.source()) : flags.absent<bool>();
  answers.vram_total = find_bytes(text, "vram_total");
  answers.vram_used = find_bytes(text, "vram_used");
  answers.vram_largest = find_bytes(text, "vram_largest");
  answers.gtt_total = find_bytes(text, "gtt_total");
  answers.gtt_used = find_bytes(text, "gtt_used");
  answers.evictions = find_number(text, "evictions");
  answers.vram_lost = find_number(text, "vram_lost");
  return answers;
}

std::map<std::uint64_t, Fact<Bytes>> parse_kfd_free(const Text& text) {
  std::map<std::uint64_t, Fact<Bytes>> free;
  if (!text) return free;
  int number = 0;
  for (const std::string_view line : split_lines(*text)) {
    ++number;
    const auto words = split_words(line);
    const auto id = words.size() == 2 ? parse_u64(words[0]) : std::nullopt;
    const auto bytes = words.size() == 2 ? parse_u64(words[1]) : std::nullopt;
    if (!id || !bytes) continue;
    free[*id] = {Bytes{*bytes}, Source{text.source().path, number, std::string(line)}};
  }
  return free;
}

Ownership parse_ownership(const Text& text) {
  return {find_octal(text, "mode"), find_number(text, "uid"), find_number(text, "gid")};
}

Text find_name_of_id(const Text& table, std::uint64_t id) {
  if (!table) return table;
  int number = 0;
  for (const std::string_view line : split_lines(*table)) {
    ++number;
    const auto fields = split(line, ':');
    if (fields.size() < 3 || parse_u64(fields[2]) != id) continue;
    return {std::string(fields[0]), Source{table.source().path, number, std::string(line)}};
  }
  return {Missing{Why::not_present, "no entry for " + std::to_string(id)}, table.source()};
}

}  // namespace headroom::facts
