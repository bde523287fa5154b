// SPDX-License-Identifier: Apache-2.0
// What a service answered, and what is wrong with it: one request or command of a smoke test, and
// all of them. The driver measures; this folder judges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "deploy/spec.h"

namespace headroom::deploy {

// One request or command of the smoke test.
struct Answer {
  enum class End : std::uint8_t {
    answered,   // With a status, or an exit code; whether right or wrong.
    timed_out,  // Nothing whole within Smoke::timeout_s.
    transport,  // No connection, or it broke off.
  };
  End end = End::answered;
  int status = 0;      // HTTP's, or the command's exit code.
  std::string body;    // Or the command's standard output.
  std::string detail;  // What went wrong with the transport, or the command's last words.
  double ms = 0;
};

// What is wrong with an answer, in the order in which causes are looked for.
struct Fault {
  enum class Kind : std::uint8_t { no_answer, failed, wrong };  // hang, smoke-failed, wrong-answer
  Kind kind = Kind::failed;
  std::string message;  // "expected status 200, found 503".
  std::string source;   // What was asked: "GET http://…/predict", or the command line.
  std::string text;     // The part of the answer that shows it; may be empty.
};

// Nothing where the answer is as the file wants it. `baseline`: an answer of the configuration
// before, compared where the file says same_answers; null: nothing to compare with.
std::optional<Fault> judge_answer(const Smoke& smoke, const Answer& answer, const Answer* baseline);

// Where the file says same_answers: whether one configuration gives the same answer each time. If
// it does not, nothing can be compared with it.
std::optional<Fault> judge_repetition(const Smoke& smoke, const Answer& answer,
                                      const Answer& earlier);

// What two answers differ in, by the rules of same_answers: JSON values of the same structure, with
// numbers at most `tolerance` apart relative to the larger one; anything else byte for byte. Empty:
// they are the same.
std::string difference(const Smoke& smoke, std::string_view baseline, std::string_view candidate);

// A smoke test that has ended, either after all requests or at the first that failed.
struct SmokeRun {
  std::vector<double> ms;  // Of the answers that were right.
  std::optional<Fault> fault;
  std::optional<Answer> first;  // The first right answer: what the candidate is compared with.

  bool passed() const { return !fault.has_value(); }
  // Nothing without any right answer. The mean of the middle two where their number is even.
  std::optional<double> median_ms() const;
};

// "POST http://127.0.0.1:3003/predict", or the command line: what evidence calls the smoke test.
std::string describe(const Smoke& smoke);

}  // namespace headroom::deploy
