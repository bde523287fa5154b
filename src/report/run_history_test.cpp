// SPDX-License-Identifier: Apache-2.0
// Lines of metrics.jsonl as they come, whole, damaged and very many; and the curves they become.
#include "report/run_history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

namespace headroom::report {
namespace {

std::string step_line(std::uint64_t step, double loss, double elapsed_s) {
  return fmt::format(
      "{{\"step\": {}, \"loss\": {}, \"tokens\": 10, \"tokens_per_s\": 100, \"step_s\": 0.5, "
      "\"elapsed_s\": {}, \"live_peak_bytes\": 4096, \"reserved_peak_bytes\": null}}\n",
      step, loss, elapsed_s);
}

RunHistory read(const std::string& text, std::size_t piece = 7) {
  RunHistoryReader reader;
  for (std::size_t at = 0; at < text.size(); at += piece) reader.add(text.substr(at, piece));
  return reader.finish();
}

TEST(RunHistory, steps_and_evaluations_are_told_apart_however_the_file_is_cut_into_pieces) {
  const std::string text = step_line(1, 5.5, 1) +
                           "{\"step\": 1, \"evaluation_loss\": 5.25, \"best\": true}\n" +
                           step_line(2, 4.5, 2);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, text.size()}) {
    const RunHistory history = read(text, piece);
    EXPECT_EQ(history.first_step, 1U);
    EXPECT_EQ(history.last_step, 2U);
    EXPECT_EQ(history.loss.pieces().size(), 2U);
    EXPECT_EQ(history.loss.latest(), 4.5);
    EXPECT_EQ(history.evaluation_loss.latest(), 5.25);
    EXPECT_EQ(history.best.steps(), std::vector<std::uint64_t>{1});
    EXPECT_EQ(history.tokens, 20U);
    EXPECT_EQ(history.live_peak_bytes.latest(), 4096);
    EXPECT_TRUE(history.reserved_peak_bytes.empty());
    EXPECT_EQ(history.passed_over, 0U);
    EXPECT_EQ(history.resumed.count(), 0U);
  }
}

TEST(RunHistory, lines_that_a_kill_cut_short_and_strange_ones_are_passed_over_and_counted) {
  const std::string cut = step_line(3, 1, 3).substr(0, 40);
  const RunHistory history =
      read(step_line(1, 5, 1) +
           "\n{\"step\": 2, \"loss\": NaN}\n[1]\nnull\n{\"step\": -2, \"loss\": 1}\n" +
           "{\"step\": 1e300, \"loss\": 1}\n" + "{\"step\": 2}\n" + std::string(20000, 'x') + "\n" +
           std::string("\xff\0\x01", 3) + "\n" + step_line(2, 4, 2) + step_line(2, 9, 2) + cut);
  EXPECT_EQ(history.last_step, 2U);
  EXPECT_EQ(history.loss.latest(), 4);
  EXPECT_EQ(history.passed_over, 10U);
}

TEST(RunHistory, a_last_line_without_its_end_counts_if_it_is_whole) {
  std::string text = step_line(1, 5, 1);
  text.pop_back();
  EXPECT_EQ(read(text).last_step, 1U);
}

TEST(RunHistory, a_loss_that_is_no_number_is_a_gap_and_the_step_counts) {
  const RunHistory history =
      read(step_line(1, 5, 1) + "{\"step\": 2, \"loss\": null, \"tokens\": 10}\n");
  EXPECT_EQ(history.last_step, 2U);
  EXPECT_EQ(history.loss.pieces().size(), 1U);
  EXPECT_EQ(history.passed_over, 0U);
}

TEST(RunHistory, a_process_that_goes_on_is_known_by_its_clock) {
  const RunHistory longer =
      read(step_line(1, 5, 1) + step_line(2, 4, 9) + step_line(3, 4, 0.5) + step_line(4, 4, 1.5));
  EXPECT_EQ(longer.resumed.steps(), std::vector<std::uint64_t>{3});
  EXPECT_DOUBLE_EQ(longer.trained_s, 10.5);
  // One that was killed after a single fast step.
  const RunHistory shorter = read(step_line(1, 5, 0.3) + step_line(2, 4, 0.5));
  EXPECT_EQ(shorter.resumed.steps(), std::vector<std::uint64_t>{2});
}

TEST(RunHistory, of_nothing_has_no_steps) {
  const RunHistory history = read("");
  EXPECT_EQ(history.last_step, 0U);
  EXPECT_TRUE(history.loss.empty());
}

TEST(RunHistory, a_very_long_run_keeps_its_spike_and_little_else) {
  RunHistoryReader reader;
  constexpr std::uint64_t steps = 100'000;
  for (std::uint64_t step = 1; step <= steps; ++step)
    reader.add(step_line(step, step == 54'321 ? 77.0 : 2.0, static_cast<double>(step)));
  const RunHistory history = reader.finish();
  EXPECT_EQ(history.last_step, steps);
  EXPECT_LE(history.loss.pieces().size(), ThinnedCurve::usual_pieces);
  EXPECT_GT(history.loss.pieces().size(), ThinnedCurve::usual_pieces / 3);
  EXPECT_EQ(history.loss.highest(), 77);
  EXPECT_EQ(history.resumed.count(), 0U);
}

TEST(ThinnedCurve, no_value_is_lost_from_its_sums_and_extremes) {
  ThinnedCurve curve(4);
  double sum = 0;
  std::uint64_t count = 0;
  for (std::uint64_t step = 1; step <= 1001; ++step) {
    const double value = static_cast<double>(step * 7919 % 1009);
    curve.add(step, value);
    sum += value;
  }
  double kept = 0;
  std::uint64_t next = 1;
  for (const CurvePiece& piece : curve.pieces()) {
    EXPECT_EQ(piece.first, next);
    next = piece.last + 1;
    kept += piece.sum;
    count += piece.count;
    EXPECT_LE(piece.lowest, piece.mean());
    EXPECT_GE(piece.highest, piece.mean());
  }
  EXPECT_LE(curve.pieces().size(), 4U);
  EXPECT_EQ(count, 1001U);
  EXPECT_EQ(next, 1002U);
  EXPECT_DOUBLE_EQ(kept, sum);
  EXPECT_EQ(curve.piece_at(500)->first, curve.piece_at(curve.piece_at(500)->last)->first);
  EXPECT_EQ(curve.piece_at(0), nullptr);
}

TEST(ThinnedCurve, what_no_run_has_is_passed_over) {
  ThinnedCurve curve;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1e300})
    curve.add(1, value);
  EXPECT_TRUE(curve.empty());
}

TEST(StepMarks, of_very_many_evenly_chosen_ones_are_kept) {
  StepMarks marks;
  for (std::uint64_t step = 1; step <= 100'000; ++step) marks.add(step);
  EXPECT_EQ(marks.count(), 100'000U);
  EXPECT_LE(marks.steps().size(), StepMarks::most);
  EXPECT_GT(marks.steps().size(), StepMarks::most / 3);
  EXPECT_GT(marks.steps().back(), 98'000U);
}

}  // namespace
}  // namespace headroom::report
