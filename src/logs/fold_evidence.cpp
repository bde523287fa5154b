// SPDX-License-Identifier: Apache-2.0
#include "logs/fold_evidence.h"

#include <algorithm>
#include <optional>

#include "logs/memory_series.h"

namespace headroom::logs {
namespace {

bool has(const std::vector<int>& places, int place) {
  return std::binary_search(places.begin(), places.end(), place);
}

// What people say in their own words is known by words far apart, which two lines have as well.
bool is_of_prose(std::string_view id) {
  return id.starts_with("said:") || id.starts_with("override-") || id == "told-outcome" ||
         id == "told-rate" || id == "outcome-told" || id == "remedy-told" || id == "setting-tried";
}

}  // namespace

std::vector<int> FoldEvidence::find(std::string_view text) {
  std::vector<int> places;
  matcher_.match(text, places, scratch_);
  // Any label and any number behind it make one, so that two lines that were never one do as well.
  std::erase_if(places, [this](int place) {
    const std::string& id = matcher_.table().rows[static_cast<std::size_t>(place)].id;
    return id.starts_with(memory_figures_id) || is_of_prose(id);
  });
  return places;
}

std::size_t FoldEvidence::count_values(int place, std::string_view text) const {
  const auto match = matcher_.extract(place, text);
  return static_cast<std::size_t>(std::count_if(match.values.begin(), match.values.end(),
                                                [](auto& value) { return !value.second.empty(); }));
}

// What begins the second piece is the rest of something longer: of "1|9866/20464 MB" the figures.
bool FoldEvidence::begins_earlier(int place, std::string_view joined,
                                  std::string_view after) const {
  if (matcher_.extract(place, after).begin > 0) return false;
  return matcher_.extract(place, joined).begin + after.size() < joined.size();
}

Found FoldEvidence::of(std::string_view before, std::string_view glue, std::string_view after) {
  std::string joined(before);
  joined += glue;
  joined += after;
  const std::vector<int> in_joined = find(joined);
  if (in_joined.empty()) return {};
  const std::vector<int> in_before = find(before), in_after = find(after);
  // A letter that no word has stands for all that might be between two lines. It is asked only
  // where the joined line says more than its pieces, which is seldom.
  std::string apart(before);
  apart += glue;
  apart += '\x01';
  apart += glue;
  apart += after;
  std::optional<std::vector<int>> found_apart;
  const auto is_apart_too = [&](int place) {
    if (!found_apart) found_apart = find(apart);
    return has(*found_apart, place);
  };
  Found found;
  const auto add = [&](bool is_loose) {
    found.evidence = std::max(found.evidence, is_loose ? Evidence::loose : Evidence::tight);
    ++found.signatures;
  };
  for (const int place : in_joined) {
    const bool is_in_piece = has(in_before, place) || has(in_after, place);
    if (!is_in_piece) {
      add(is_apart_too(place));
      continue;
    }
    const std::size_t values = count_values(place, joined);
    if (values == 0) continue;
    const std::size_t without = std::max(has(in_before, place) ? count_values(place, before) : 0,
                                         has(in_after, place) ? count_values(place, after) : 0);
    if (values <= without) {
      const bool is_of_after = has(in_after, place) && !has(in_before, place);
      if (is_of_after && begins_earlier(place, joined, after)) add(true);
      continue;
    }
    add(is_apart_too(place) && count_values(place, apart) >= values);
  }
  return found;
}

}  // namespace headroom::logs
