// SPDX-License-Identifier: Apache-2.0
// What the signatures say of two pieces: whether they were one line. They are written for whole
// lines, so what one of them finds across a border and in neither piece was there before it was
// cut.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "logs/matcher.h"

namespace headroom::logs {

enum class Evidence {
  none,
  loose,  // Found across the border, but anything might stand there, as in "error.*reason".
  tight,  // The border lies within letters that belong together.
};

struct Found {
  Evidence evidence = Evidence::none;  // The best of them.
  int signatures = 0;                  // How many.
};

class FoldEvidence {
 public:
  // The matcher must outlive this.
  explicit FoldEvidence(const Matcher& matcher) : matcher_(matcher) {}

  // `glue` is what comes between the pieces: nothing or a blank.
  Found of(std::string_view before, std::string_view glue, std::string_view after);

 private:
  std::vector<int> find(std::string_view text);
  // How many values a signature tells; of those that were found.
  std::size_t count_values(int place, std::string_view text) const;
  bool begins_earlier(int place, std::string_view joined, std::string_view after) const;

  const Matcher& matcher_;
  Matcher::Scratch scratch_;
};

}  // namespace headroom::logs
