// SPDX-License-Identifier: Apache-2.0
// A sentence about releases as words of a few kinds, so that the same story is understood in many
// wordings: what it is about, versions, outcomes, going back and forth, and the small words that
// turn their sense.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "findings/causes/told_versions.h"

namespace headroom::findings {

enum class WordKind {
  component,
  version,
  good,
  bad,
  futile,    // Bad, and as bad as before.
  opposite,  // "Does not", "not with": the opposite of the outcome before.
  only,      // "Only with": bad, unless it only works so.
  too,       // The outcome is that of the sentence before.
  back,      // Going back.
  forth,     // Going to a newer one.
  added,     // Installing: what it helped counts, what it did not help tells nothing.
  newer,     // Adjectives.
  older,
  since,       // The outcome began with what follows.
  since_then,  // Bad, unless an outcome follows.
  before,      // The outcome ended with what follows, or what follows was left for another.
  from,        // "From A to B", "between A and B".
  to,
  once,  // "It used to work".
  pause,
  stop,
};

struct ToldWord {
  WordKind kind = WordKind::stop;
  Component component = Component::rocm;
  std::string text;
};

// Reads a line; it ends in a stop. What it asks it does not tell.
std::vector<ToldWord> told_words(std::string_view line);

}  // namespace headroom::findings
