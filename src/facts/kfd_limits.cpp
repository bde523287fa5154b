// SPDX-License-Identifier: Apache-2.0
#include "facts/kfd_limits.h"

#include "base/text.h"

namespace headroom::facts {
namespace {

Fact<Bytes> parse_mib(std::string_view word, const Source& source) {
  const bool in_mib = word.ends_with('M');
  if (in_mib) word.remove_suffix(1);
  const auto mib = parse_u64(word);
  if (!in_mib || !mib || *mib > (UINT64_MAX >> 20U)) {
    return {Missing{Why::not_understood, source.text}, source};
  }
  return {Bytes{*mib << 20U}, source};
}

void parse_line(const Text& line, Fact<Bytes>& used, Fact<Bytes>& limit) {
  if (!line) {
    used = limit = line.absent<Bytes>();
    return;
  }
  used = limit = Fact<Bytes>(Missing{Why::not_understood, *line}, line.source());
  const auto words = split_words(*line);  // mem used 1M out of 2M
  const bool usual = words.size() == 6 && words[1] == "used" && words[3] == "out";
  if (!usual) return;
  used = parse_mib(words[2], line.source());
  limit = parse_mib(words[5], line.source());
  if (!limit || limit->value > 0) return;
  const Missing unset{Why::not_present, "0M: the compute driver has not set its limits yet"};
  used = limit = {unset, line.source()};
}

}  // namespace

KfdLimits parse_kfd_limits(const Text& text) {
  KfdLimits limits;
  parse_line(find_line(text, "System"), limits.system_used, limits.system_limit);
  parse_line(find_line(text, "TTM"), limits.ttm_used, limits.ttm_limit);
  return limits;
}

}  // namespace headroom::facts
