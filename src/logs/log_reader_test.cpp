// SPDX-License-Identifier: Apache-2.0
#include "logs/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace headroom::logs {
namespace {

using namespace std::string_literals;
using knowledge::Role;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

knowledge::SignatureTable make_table() {
  const auto row = [](const char* id, const char* match, Role role, int output) {
    knowledge::Signature signature;
    signature.id = id;
    signature.match = match;
    signature.role = role;
    signature.output = output;
    return signature;
  };
  return {{row("oom", "out of memory(?:: (?P<size>\\d+) GiB)?", Role::failure, 0),
           row("hang", "ring (?P<ring>\\w+) timeout", Role::failure, 0),
           row("typed", "\\$ (?P<command>rocminfo|dmesg)", Role::command, 3),
           row("version", "torch (?P<torch>[\\d.]+)", Role::fact, 0),
           row("begins", "^begins here", Role::failure, 0)}};
}

// Tests that read the same table.
class Reader : public testing::Test {
 protected:
  Observations read(std::string_view log, std::size_t piece = 1U << 20U) const {
    Observations observations;
    LogReader reader(matcher_, observations, 0);
    for (std::size_t at = 0; at < log.size(); at += piece) reader.feed(log.substr(at, piece));
    reader.finish();
    return observations;
  }

  const knowledge::SignatureTable table_ = make_table();
  const Matcher matcher_ = *Matcher::make(table_);
};

std::string to_text(const Observations& observations) {
  std::string text;
  for (const Observation& one : observations.all()) {
    text += one.id() + "|" + std::to_string(one.line) + "|" + one.time + "|" + one.origin + "|" +
            one.text;
    for (const auto& [name, value] : one.values) text += "|" + name + "=" + value;
    for (const std::string& line : one.output) text += "|>" + line;
    text += "\n";
  }
  for (const char* id : {"oom", "hang", "typed", "version", "begins"}) {
    text += id + (" " + std::to_string(observations.count_of(id))) + "\n";
  }
  return text;
}

TEST_F(Reader, tells_where_a_line_is_from_and_what_it_says) {
  const auto seen = read("a\nb\n2024-05-24T10:02:41Z [rank1]: out of memory: 3 GiB\nc\n");
  ASSERT_EQ(seen.all().size(), 1U);
  const Observation& one = seen.all()[0];
  EXPECT_EQ(one.line, 3U);
  EXPECT_EQ(one.time, "2024-05-24T10:02:41Z");
  EXPECT_EQ(one.origin, "rank1");
  EXPECT_EQ(one.text, "out of memory: 3 GiB");
  EXPECT_THAT(one.values, ElementsAre(Pair("size", "3")));
}

TEST_F(Reader, interleaved_processes_keep_their_names) {
  const auto seen = read("a-1  | out of memory\nb-1  | out of memory\n[rank3]: out of memory\n");
  std::vector<std::string> origins;
  for (const Observation* one : seen.of("oom")) origins.push_back(one->origin);
  EXPECT_THAT(origins, ElementsAre("a-1", "b-1", "rank3"));
}

TEST_F(Reader, last_line_may_lack_its_end) {
  EXPECT_EQ(read("a\nout of memory").first("oom")->line, 2U);
  EXPECT_TRUE(read("out of memor").all().empty());
  EXPECT_EQ(read("x\nout of memory: 12 Gi").first("oom")->value("size"), "");
}

TEST_F(Reader, what_was_folded_is_read_as_one_line_with_its_first_number) {
  const std::string log =
      "start\n2024-05-24T10:02:41Z the job that ran since Monday says: out of mem\nory: 3"
      " GiB\nend\n";
  for (const std::size_t piece : {1U, 7U, 1000U}) {
    const auto seen = read(log, piece);
    ASSERT_EQ(seen.count_of("oom"), 1U);
    EXPECT_EQ(seen.first("oom")->line, 2U);
    EXPECT_EQ(seen.first("oom")->value("size"), "3");
    EXPECT_EQ(seen.first("oom")->time, "2024-05-24T10:02:41Z");
  }
}

TEST_F(Reader, lines_are_counted_as_they_were_pasted) {
  Observations observations;
  LogReader reader(matcher_, observations, 0);
  reader.feed("> a\n> b\n");
  EXPECT_EQ(reader.lines(), 2U);
  reader.feed("> out of memory");
  EXPECT_EQ(reader.lines(), 3U);
  reader.finish();
  EXPECT_EQ(reader.lines(), 3U);
  EXPECT_EQ(observations.first("oom")->line, 3U);
  EXPECT_EQ(observations.first("oom")->text, "out of memory");
}

TEST_F(Reader, a_long_paste_is_put_together_block_by_block_and_a_long_log_read_as_it_is) {
  std::string pasted, plain;
  for (int i = 0; i < 20'000; ++i) {
    pasted += "> line of a job that goes on\n";
    plain += "line of a job that goes on\n";
  }
  const std::string end = "> begins here\n";
  EXPECT_EQ(read(pasted + end, 4096).first("begins")->line, 20'001U);
  EXPECT_FALSE(read(plain + end, 4096).seen("begins"));
}

TEST_F(Reader, what_is_asked_for_while_it_is_written_is_read_as_it_is_written) {
  Observations observations;
  LogReader reader(matcher_, observations, 0);
  reader.feed("> begins here\n> out of memory\n");
  reader.flush();
  EXPECT_EQ(observations.count_of("oom"), 1U);
  reader.finish();
  EXPECT_FALSE(observations.seen("begins"));
  EXPECT_EQ(observations.count_of("oom"), 1U);
}

TEST_F(Reader, carriage_returns_end_rows_of_the_same_line) {
  const auto seen = read("a\r\nw-1  | 10%\r20%\rbegins here\r90%\r\nout of memory\r\n");
  EXPECT_EQ(seen.first("begins")->line, 2U);
  EXPECT_EQ(seen.first("begins")->text, "begins here");
  EXPECT_EQ(seen.first("begins")->origin, "w-1");
  EXPECT_EQ(seen.first("oom")->line, 3U);
  EXPECT_EQ(seen.first("oom")->text, "out of memory");
}

TEST_F(Reader, utf16_colours_and_backspaces_are_read) {
  std::string wide;
  for (const char letter : "line\r\n\x1b[31mout of\x1b[0m memory: 7 GiB\r\n"s) {
    wide += letter;
    wide += '\0';
  }
  EXPECT_EQ(read("\xFF\xFE" + wide).first("oom")->value("size"), "7");
  EXPECT_EQ(read(wide, 3).first("oom")->line, 2U);
  EXPECT_EQ(read("loading -\b\\\bout of memory").first("oom")->text, "loading out of memory");
}

TEST_F(Reader, output_of_a_command_ends_with_the_next_command) {
  const auto seen = read("$ rocminfo\nfirst\nsecond\n$ dmesg\na\nb\nc\nd\n");
  ASSERT_EQ(seen.count_of("typed"), 2U);
  EXPECT_THAT(seen.first("typed")->output, ElementsAre("first", "second"));
  EXPECT_THAT(seen.last("typed")->output, ElementsAre("a", "b", "c"));
}

TEST_F(Reader, output_shows_what_a_progress_bar_wrote_last) {
  EXPECT_THAT(read("$ dmesg\n1%\r2%\r100%\r\n").first("typed")->output, ElementsAre("100%"));
}

TEST_F(Reader, output_is_that_of_the_last_command_also_where_enough_are_kept) {
  std::string log;
  for (int i = 0; i < 2000; ++i) log += "$ dmesg\nline " + std::to_string(i) + "\n";
  const auto seen = read(log);
  EXPECT_EQ(seen.count_of("typed"), 2000U);
  EXPECT_THAT(seen.last("typed")->output, ElementsAre("line 1999"));
}

TEST_F(Reader, what_repeats_is_counted_and_kept_at_both_ends) {
  std::string log;
  for (int i = 1; i <= 1000; ++i) log += "out of memory: " + std::to_string(i) + " GiB\n";
  const auto seen = read(log);
  EXPECT_EQ(seen.count_of("oom"), 1000U);
  EXPECT_EQ(seen.of("oom").size(), Observations::kept_of_a_kind + 1);
  EXPECT_EQ(seen.first("oom")->value("size"), "1");
  EXPECT_EQ(seen.of("oom")[63]->value("size"), "64");
  EXPECT_EQ(seen.last("oom")->value("size"), "1000");
  EXPECT_EQ(seen.last("oom")->line, 1000U);
}

TEST_F(Reader, flush_tells_what_is_known_by_now) {
  Observations observations;
  LogReader reader(matcher_, observations, 0);
  for (int i = 0; i < 300; ++i) reader.feed("out of memory\n");
  reader.flush();
  EXPECT_EQ(observations.count_of("oom"), 300U);
  EXPECT_EQ(observations.last("oom")->line, 300U);
  reader.feed("x\nout of memory\n");
  reader.flush();
  EXPECT_EQ(observations.count_of("oom"), 301U);
  EXPECT_EQ(observations.last("oom")->line, 302U);
}

TEST_F(Reader, long_line_is_searched_to_its_end_and_has_one_number) {
  std::string log = "first\n[rank2]: " + std::string(10U << 20U, 'x') + " out of memory: 5 GiB ";
  log += std::string(100000, 'y') + "\nout of memory\n";
  const auto seen = read(log, 1U << 16U);
  ASSERT_EQ(seen.count_of("oom"), 2U);
  EXPECT_EQ(seen.first("oom")->line, 2U);
  EXPECT_EQ(seen.first("oom")->origin, "rank2");
  EXPECT_EQ(seen.first("oom")->value("size"), "5");
  EXPECT_LT(seen.first("oom")->text.size(), 700U);
  EXPECT_EQ(seen.last("oom")->line, 3U);
}

TEST_F(Reader, what_stands_between_two_parts_of_a_long_line_is_found_once) {
  for (const std::size_t before : {32750U, 32760U, 32767U, 32768U, 32300U, 65000U}) {
    const auto seen = read(std::string(before, 'x') + "out of memory" + std::string(40000, 'y'));
    EXPECT_EQ(seen.count_of("oom"), 1U) << before;
  }
}

TEST_F(Reader, rubbish_is_read_to_its_end) {
  std::string rubbish;
  unsigned state = 1;
  for (int i = 0; i < 1000000; ++i) {
    state = state * 1664525U + 1013904223U;
    rubbish += static_cast<char>(state >> 24U);
  }
  EXPECT_EQ(read(rubbish + "\n\x1b\\out of memory\n").count_of("oom"), 1U);
  EXPECT_THAT(read(std::string(1000000, '\0')).all(), IsEmpty());
}

TEST_F(Reader, shown_text_is_utf8_whatever_the_log_is) {
  const auto seen = read("\xFF\xFA out of memory \xC3\n");
  EXPECT_EQ(seen.first("oom")->text, "\xEF\xBF\xBD\xEF\xBF\xBD out of memory \xEF\xBF\xBD");
}

TEST_F(Reader, lines_and_bytes_are_counted) {
  Observations observations;
  LogReader reader(matcher_, observations, 0);
  reader.feed("a\nout of memory\n");
  reader.feed("b");
  EXPECT_EQ(reader.lines(), 3U);
  reader.finish();
  EXPECT_EQ(reader.lines(), 3U);
  EXPECT_EQ(reader.bytes(), 17U);
}

TEST_F(Reader, unending_variety_takes_bounded_memory) {
  Observations observations;
  LogReader reader(matcher_, observations, 0);
  const std::string filler(3000, 'z');
  for (int i = 0; i < 20000; ++i) {
    reader.feed("out of memory ring x" + std::to_string(i) + " timeout torch 1." +
                std::to_string(i) + filler + "\n");
  }
  reader.finish();
  // Two kinds of failures, and two of facts: releases and sentences.
  EXPECT_LE(observations.all().size(),
            2 * (Observations::kept_of_a_kind + 1) + 2 * (Observations::kept_facts + 1));
}

// Pieces of logs that stand on each other's borders.
rc::Gen<std::string> any_log() {
  const auto part = rc::gen::weightedElement<std::string>({
      {8, "out of memory: 3 GiB"},
      {4, "[rank1]: "},
      {8, "\n"},
      {3, "\r\n"},
      {3, "\r"},
      {3, "$ rocminfo"},
      {3, "ring gfx timeout"},
      {2, "torch 2.8.0"},
      {2, "begins here"},
      {2, "\x1b[31m"},
      {2, "\x1b]0;t\a"},
      {1, "\x1b"},
      {1, "\b"},
      {1, std::string(1, '\0')},
      {2, "größe \xF0\x9F\x94\xA5"},
      {1, "\xFF"},
      {1, std::string(32768 - 20, 'x')},
      {1, std::string(40000, 'y')},
  });
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(part),
                      [](const std::vector<std::string>& parts) {
                        std::string log;
                        for (const std::string& one : parts) log += one;
                        return log;
                      });
}

RC_GTEST_FIXTURE_PROP(Reader, pieces_of_any_size_give_the_same_observations, ()) {
  std::string log = *any_log();
  if (*rc::gen::inRange(0, 4) == 0) {
    std::string wide = *rc::gen::element<std::string>("", "\xFF\xFE");
    for (const char byte : log) wide += {byte, '\0'};
    log = wide;
  }
  const std::string whole = to_text(read(log));
  Observations observations;
  LogReader reader(matcher_, observations, 0);
  for (std::string_view rest = log; !rest.empty();) {
    const auto size = std::min<std::size_t>(
        rest.size(), *rc::gen::element<std::size_t>(1, 2, 3, 7, 30, 500, 33000, 70000));
    reader.feed(rest.substr(0, size));
    rest.remove_prefix(size);
    if (*rc::gen::inRange(0, 10) == 0) reader.flush();
  }
  reader.finish();
  RC_ASSERT(to_text(observations) == whole);
}

}  // namespace
}  // namespace headroom::logs
