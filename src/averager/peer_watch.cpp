// SPDX-License-Identifier: Apache-2.0
#include "averager/peer_watch.h"

#include <algorithm>

namespace headroom::averager {

using protocol::bit;

std::uint32_t WatchTimes::interval_ms() const {
  constexpr std::uint32_t shortest = 1;
  constexpr std::uint32_t longest = 20;
  return std::clamp(silent_ms / 8, shortest, longest);
}

void PeerWatch::look() {
  const std::uint64_t now = now_ms();
  // Where this process itself was stopped, as with all its fellows by ^Z, that time says nothing of
  // the others.
  const std::uint64_t most = std::uint64_t{2} * times_.interval_ms();
  const std::uint64_t passed_ms = looked_ms_ == 0 ? 0 : std::min(now - looked_ms_, most);
  looked_ms_ = now;
  const std::uint32_t me = segment_->self().rank;
  segment_->member(me).beats.fetch_add(1);
  for (std::uint32_t rank = 0; rank < segment_->self().ranks; ++rank)
    if (rank != me) look_at(rank, passed_ms);
}

// Takes hold of the process that is the rank. Returns whether it holds it; marks it dead if there
// is none.
bool PeerWatch::hold(std::uint32_t rank, std::uint64_t life) {
  Peer& peer = peers_.at(rank);
  if (peer.life == life && peer.process) return true;
  // A rank that joins becomes a member and stays the same process.
  const bool same_process = peer.process && protocol::to_life(peer.life).incarnation ==
                                                protocol::to_life(life).incarnation;
  peer.life = life;
  if (same_process) return true;
  const Member& member = segment_->member(rank);
  const ProcessIdentity who{.pid = member.pid, .started = member.started};
  peer = {.life = life, .process = {}, .beats = member.beats.load()};
  if (member.life.load() != life) return false;  // It changed while it was read: next time.
  auto process = machine::ProcessHandle::open(who.pid);
  if (process && is_running(who)) {
    peer.process = *std::move(process);
    return true;
  }
  if (!is_running(who)) mark_dead(rank);
  return false;
}

void PeerWatch::look_at(std::uint32_t rank, std::uint64_t passed_ms) {
  const Member& member = segment_->member(rank);
  const std::uint64_t life = member.life.load();
  if (!protocol::is_live(life)) {
    peers_.at(rank) = {};
    condemned_.fetch_and(~std::uint32_t{bit(rank)});
    return;
  }
  if (!hold(rank, life)) return;
  Peer& peer = peers_.at(rank);
  if (peer.process->wait_ended(0)) return mark_dead(rank);
  const std::uint64_t beats = member.beats.load();
  peer.silent_ms = beats == peer.beats ? peer.silent_ms + passed_ms : 0;
  peer.beats = beats;
  const bool condemned = (condemned_.load() & bit(rank)) != 0;
  if (condemned || peer.silent_ms > times_.silent_ms) end(rank, passed_ms);
}

void PeerWatch::end(std::uint32_t rank, std::uint64_t passed_ms) {
  constexpr std::uint64_t patience_ms = 10'000;  // For a process that the kernel does not let go.
  Peer& peer = peers_.at(rank);
  // Ranks that are threads of one process are not ended by one of them.
  const bool is_own = segment_->member(rank).pid == machine::own_pid();
  const bool sent = !is_own && peer.process->send(machine::ProcessHandle::Signal::kill).has_value();
  if (sent && peer.process->wait_ended(times_.interval_ms())) return mark_dead(rank);
  peer.ending_ms += passed_ms + 1;
  if (!sent || peer.ending_ms > patience_ms) {
    unended_.fetch_or(bit(rank));
    segment_->bell().ring();
  }
}

void PeerWatch::mark_dead(std::uint32_t rank) {
  std::uint64_t life = peers_.at(rank).life;
  const auto incarnation = protocol::to_life(life).incarnation;
  segment_->member(rank).life.compare_exchange_strong(
      life, to_word(protocol::LifeWord{incarnation, protocol::Life::dead}));
  condemned_.fetch_and(~std::uint32_t{bit(rank)});
  peers_.at(rank) = {};
  segment_->bell().ring();
}

}  // namespace headroom::averager
