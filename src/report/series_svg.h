// SPDX-License-Identifier: Apache-2.0
// Values over the steps of a run as a picture: a line for each, through the means of its pieces
// (thinned_curve.h) with what lies between their lowest and highest values behind it; levels that
// do not change, such as a capacity; and marks at steps where something happened. The colours are
// classes (curve-train, mark-oom, …) that the page defines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/document_fwd.h"
#include "report/thinned_curve.h"

namespace headroom::report {

struct Series {
  std::string name;  // For people.
  std::string kind;  // Of its class: "train" is curve-train.
  const ThinnedCurve& curve;
};

// A horizontal line. One that is far above the curves is said and not drawn.
struct Level {
  std::string name;
  std::string kind;  // Of its class: "capacity", "planned".
  double value = 0;
};

struct StepMark {
  std::uint64_t step = 0;
  std::string kind;  // Of its class: "oom" is mark-oom.
  std::string text;  // What happened there.
};

enum class Amount : std::uint8_t { number, bytes };

struct SeriesChart {
  std::string id;     // Of the elements; unique in the page.
  std::string title;  // What the picture shows, for those who do not see it.
  Amount amount = Amount::number;
  std::uint64_t last_step = 0;
  std::vector<Series> series;
  std::vector<Level> levels = {};
  std::vector<StepMark> marks = {};
  bool from_zero = false;  // Always, and not only where the values reach down near to it.
};

// "1.234", "56.3 MiB".
std::string to_text(double value, Amount amount);
// Of a piece: its mean, and from where to where its values go if there are several.
std::string to_text(const CurvePiece& piece, Amount amount);
// "step 7", "steps 9 to 16".
std::string steps_text(const CurvePiece& piece);

// One <svg>.
std::string to_svg(const SeriesChart& chart);

// What the page's script needs to answer a pointer: where the plot lies within the picture, and
// what to say from where on.
Json hover_data(const SeriesChart& chart);

// The numbers as a <table>, at most `rows` of them: evenly chosen, the last one included.
std::string to_table(const SeriesChart& chart, std::size_t rows);

}  // namespace headroom::report
