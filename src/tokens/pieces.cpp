// SPDX-License-Identifier: Apache-2.0
#include "tokens/pieces.h"

#include <algorithm>

namespace headroom::tokens {
namespace {

// The parts from first to last. A match becomes part of the one before it, unless that is a match.
template <class Iterator, class Grow>
std::vector<Span> merge_matches(Iterator begin, Iterator end, const Grow& grow) {
  std::vector<Span> spans;
  bool after_match = false;
  for (Iterator part = begin; part != end; ++part) {
    if (part->is_match && !after_match && !spans.empty()) {
      grow(spans.back(), part->span);
    } else {
      spans.push_back(part->span);
    }
    after_match = part->is_match;
  }
  return spans;
}

std::vector<Span> merge_alike(const std::vector<Part>& parts) {
  std::vector<Span> spans;
  bool after_match = false;
  for (const Part& part : parts) {
    if (part.is_match == after_match && !spans.empty()) {
      spans.back().end = part.span.end;
    } else {
      spans.push_back(part.span);
    }
    after_match = part.is_match;
  }
  return spans;
}

std::vector<Span> keep(const std::vector<Part>& parts, bool matches) {
  std::vector<Span> spans;
  for (const Part& part : parts)
    if (matches || !part.is_match) spans.push_back(part.span);
  return spans;
}

}  // namespace

std::vector<Span> join_parts(const std::vector<Part>& parts, Delimiter delimiter) {
  std::vector<Span> spans;
  switch (delimiter) {
    case Delimiter::removed:
      spans = keep(parts, false);
      break;
    case Delimiter::isolated:
      spans = keep(parts, true);
      break;
    case Delimiter::merged_with_previous:
      spans = merge_matches(parts.begin(), parts.end(),
                            [](Span& span, const Span& match) { span.end = match.end; });
      break;
    case Delimiter::merged_with_next:
      spans = merge_matches(parts.rbegin(), parts.rend(),
                            [](Span& span, const Span& match) { span.begin = match.begin; });
      std::reverse(spans.begin(), spans.end());
      break;
    case Delimiter::contiguous:
      spans = merge_alike(parts);
      break;
  }
  std::erase_if(spans, [](const Span& span) { return span.begin == span.end; });
  return spans;
}

}  // namespace headroom::tokens
