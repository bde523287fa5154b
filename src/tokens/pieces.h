// SPDX-License-Identifier: Apache-2.0
// A text that is being cut into words: each step cuts its pieces further, or changes what stands in
// them. The rules of cutting are those of Hugging Face's tokenizers (NormalizedString::split).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokens/pattern.h"

namespace headroom::tokens {

// What becomes of the text that a pattern was found in.
enum class Delimiter : std::uint8_t {
  removed,
  isolated,              // A piece of its own.
  merged_with_previous,  // The end of the piece before it.
  merged_with_next,
  contiguous,  // One piece of those that follow each other directly.
};

// A part of a piece, and whether the pattern was found there. Together they are the whole piece.
struct Part {
  Span span;
  bool is_match = false;
};

// The parts as they remain, in order; empty ones are left out.
std::vector<Span> join_parts(const std::vector<Part>& parts, Delimiter delimiter);

struct Pieces {
  std::string text;
  std::vector<Span> spans;  // Ascending; none is empty.
  bool at_start = false;    // Whether spans[0] begins where the whole input does.

  std::string_view at(const Span& span) const {
    return std::string_view(text).substr(span.begin, span.end - span.begin);
  }
  // Cuts every piece: find_parts(piece, parts) puts in the parts of `piece`, from 0 on.
  template <class FindParts>
  Status cut(Delimiter delimiter, const FindParts& find_parts);
  // Replaces every piece by what `rewrite(piece, is_first, text)` appends to `text`.
  template <class Rewrite>
  void rewrite(const Rewrite& rewrite);
};

template <class FindParts>
Status Pieces::cut(Delimiter delimiter, const FindParts& find_parts) {
  std::vector<Span> cut_spans;
  cut_spans.reserve(spans.size() * 2);
  std::vector<Part> parts;
  const std::size_t first = spans.empty() ? 0 : spans[0].begin;
  for (const Span& span : spans) {
    parts.clear();
    HEADROOM_CHECK(find_parts(at(span), parts));
    if (delimiter == Delimiter::isolated) {  // Which is what nearly all tokenizers do.
      for (const Part& part : parts)
        if (part.span.begin != part.span.end)
          cut_spans.push_back({span.begin + part.span.begin, span.begin + part.span.end});
      continue;
    }
    for (const Span& part : join_parts(parts, delimiter))
      cut_spans.push_back({span.begin + part.begin, span.begin + part.end});
  }
  at_start = at_start && !cut_spans.empty() && cut_spans[0].begin == first;
  spans = std::move(cut_spans);
  return Done{};
}

template <class Rewrite>
void Pieces::rewrite(const Rewrite& rewrite) {
  std::string changed;
  changed.reserve(text.size() + text.size() / 2 + spans.size());
  bool is_first = at_start;
  for (Span& span : spans) {
    const std::size_t begin = changed.size();
    rewrite(at(span), is_first, changed);
    span = {begin, changed.size()};
    is_first = false;
  }
  text = std::move(changed);
}

}  // namespace headroom::tokens
