// SPDX-License-Identifier: Apache-2.0
// A command as the question that is put to a service.
#include <fmt/format.h>

#include <algorithm>

#include "machine/clock.h"
#include "machine/services/running_program.h"

namespace headroom::machine {
namespace {

class Commands : public Load {
 public:
  Commands(ProgramCall call, const LoadShape& shape) : call_(std::move(call)), shape_(shape) {}

  Result<std::vector<LoadAnswer>> wait(std::uint64_t wait_ms) override {
    std::vector<LoadAnswer> answers;
    const std::uint64_t deadline = monotonic_ns() + wait_ms * 1'000'000;
    do {
      fill(answers);
      take_answers(answers);
    } while (answers.empty() && !is_over() && monotonic_ns() < deadline);
    return answers;
  }
  bool is_over() const override { return begun_ == shape_.repeat && running_.empty(); }

 private:
  struct One {
    std::unique_ptr<RunningProgram> program;
    std::uint64_t began_ns = 0;
  };

  void fill(std::vector<LoadAnswer>& answers) {
    while (begun_ < shape_.repeat && running_.size() < shape_.concurrency) {
      ++begun_;
      const std::uint64_t now = monotonic_ns();
      auto program = RunningProgram::start(call_);
      if (program) {
        running_.push_back({*std::move(program), now});
      } else {
        LoadAnswer answer;
        answer.end = LoadAnswer::End::transport;
        answer.detail = program.error().message;
        answers.push_back(std::move(answer));
        return;
      }
    }
  }

  void take_answers(std::vector<LoadAnswer>& answers) {
    constexpr std::uint64_t slice_ms = 2;  // Each is waited for a little, in turn.
    for (One& one : running_) {
      const bool ended = one.program->wait(slice_ms);
      const std::uint64_t taken_ns = monotonic_ns() - one.began_ns;
      LoadAnswer answer;
      answer.ms = static_cast<double>(taken_ns) / 1e6;
      if (ended) {
        answer.status = one.program->status();
        answer.body = std::move(one.program->output());
        answer.detail = one.program->errors();
      } else if (taken_ns > shape_.timeout_ms * 1'000'000) {
        answer.end = LoadAnswer::End::timed_out;
        answer.detail = one.program->errors();
      } else {
        continue;
      }
      one.program.reset();
      answers.push_back(std::move(answer));
    }
    std::erase_if(running_, [](const One& one) { return !one.program; });
  }

  ProgramCall call_;
  LoadShape shape_;
  std::uint64_t begun_ = 0;
  std::vector<One> running_;
};

}  // namespace

std::unique_ptr<Load> start_commands(const ProgramCall& call, const LoadShape& shape) {
  return std::make_unique<Commands>(call, shape);
}

}  // namespace headroom::machine
