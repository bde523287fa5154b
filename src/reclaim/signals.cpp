// SPDX-License-Identifier: Apache-2.0
// Asking and insisting. No more are signalled than it takes: as many of the largest as together
// hold what is missing, then the memory is measured, then the next ones.
#include <fmt/format.h>

#include "plan/reclaim/names.h"
#include "reclaim/session.h"

namespace headroom::reclaim {
namespace {

using Batch = std::vector<HeldTarget*>;

double seconds(std::uint64_t ms) {
  return static_cast<double>(ms) / 1000.0;
}

// Takes from `pending`, whose last element is the next one.
Batch next_batch(Batch& pending, const std::optional<Bytes>& missing) {
  Batch batch;
  Bytes sum;
  while (!pending.empty() && (!missing || batch.empty() || sum < *missing)) {
    batch.push_back(pending.back());
    sum += pending.back()->target->held.bytes;
    pending.pop_back();
  }
  return batch;
}

void note_refusal(const HeldTarget& one, Signal signal, const Error& error, plan::RungDone& done) {
  const std::string name = plan::name_of(one.target->held);
  if (error.code == Errc::no_permission) {
    done.failed = fmt::format("{} belongs to somebody else: sudo kill{} {}", name,
                              signal == Signal::kill ? " -KILL" : "", one.target->held.pid);
  } else {
    done.failed = name + ": " + error.message;
  }
  done.did.push_back(done.failed);
}

void send_to(Session& session, Batch& batch, Signal signal, plan::RungDone& done) {
  Batch reached;
  for (HeldTarget* one : batch) {
    const Status sent = session.kernel().send(one->held, signal);
    if (sent) {
      reached.push_back(one);
    } else if (sent.error().code == Errc::not_found) {
      one->ended = true;
      done.did.push_back(plan::name_of(one->target->held) + " had ended already");
    } else {
      note_refusal(*one, signal, sent.error(), done);
    }
  }
  batch = std::move(reached);
}

void wait_for(Session& session, const Batch& batch, Signal signal, plan::RungDone& done) {
  Kernel& kernel = session.kernel();
  const std::uint64_t start = kernel.now_ms();
  const std::uint64_t deadline = start + session.plan().options.grace_s * 1000;
  const std::string_view verb = signal == Signal::kill ? "killed" : "asked";
  for (HeldTarget* one : batch) {
    const std::uint64_t now = kernel.now_ms();
    one->ended = kernel.wait_ended(one->held, now < deadline ? deadline - now : 0);
    const double after = seconds(kernel.now_ms() - start);
    const std::string name = plan::name_of(one->target->held);
    if (one->ended) {
      done.did.push_back(fmt::format("{} {}: it ended within {:.1f} s", verb, name, after));
    } else if (kernel.state(one->held) == 'D') {
      done.did.push_back(fmt::format(
          "{} {}: it is stuck in the kernel (state D), where no signal reaches it", verb, name));
    } else {
      done.did.push_back(fmt::format("{} {}: still there after {:.1f} s", verb, name, after));
    }
  }
}

Taken signal_targets(Session& session, Signal signal, plan::RungDone& done) {
  Batch pending;
  auto& targets = session.targets();
  for (auto one = targets.rbegin(); one != targets.rend(); ++one) {
    if (one->held >= 0 && !one->ended) pending.push_back(&*one);
  }
  if (pending.empty()) done.skipped = "the chosen processes have ended";
  while (!pending.empty() && !session.is_enough()) {
    Batch batch = next_batch(pending, plan::shortage(session.plan(), session.now()));
    send_to(session, batch, signal, done);
    wait_for(session, batch, signal, done);
    if (!session.measure_until_enough(effect_wait_ms)) return Taken::no_gpu;
  }
  return Taken::done;
}

}  // namespace

Taken take_ask(Session& session, plan::RungDone& done) {
  return signal_targets(session, Signal::terminate, done);
}

Taken take_insist(Session& session, plan::RungDone& done) {
  return signal_targets(session, Signal::kill, done);
}

}  // namespace headroom::reclaim
