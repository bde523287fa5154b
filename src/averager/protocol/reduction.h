// SPDX-License-Identifier: Apache-2.0
// A rank's part in one bucket after it arrived. First all agree whose inputs make the result: the
// first rank that sees everyone arrived or dead writes the decision, which holds for all. Then each
// takes chunks that nobody has, starting with its own share: sums the inputs in the order of ranks
// into its scratch, and copies that over the inputs. What a dead rank had begun, a live one begins
// again or goes on with, as the chunk's stage allows.
#pragma once

#include "averager/protocol/action.h"

namespace headroom::averager::protocol {

class Reduction {
 public:
  // `expected` are the ranks to wait for: all at the first bucket, later what the decision on the
  // bucket before says. `admits` tells whether ranks that join are expected from the next bucket
  // on.
  Reduction(const Self& self, Bucket bucket, RankMask expected, bool admits)
      : self_(self), bucket_(bucket), expected_(expected), admits_(admits) {}

  Action action() const;
  void took(std::uint64_t result);

  bool is_expelled() const { return step_ == Step::expelled; }
  // Requires: finished.
  const Decision& decision() const { return decision_; }
  RankMask expected() const { return expected_; }
  RankMask waits_for() const { return waits_for_; }

 private:
  friend struct Fingerprint;
  enum class Step : std::uint8_t {
    load_bell,
    load_decided,
    load_life,
    load_arrived,
    write_decided,
    ring_decided,
    sleep,
    compare,
    load_chunk_bell,
    load_chunk,
    load_worker,
    take,
    sum,
    write_summed,
    push,
    write_done,
    ring_done,
    collect,
    write_finished,
    ring_finished,
    finished,
    expelled
  };
  Word chunk_word() const { return {Area::chunk, self_.slot(bucket_), chunk()}; }
  std::uint32_t chunk() const;
  Action work() const;
  Decision proposal() const;
  void settle(const Decision& decision);
  void begin_pass();
  void next_chunk();
  void found_chunk(std::uint64_t word);
  void took_chunk(std::uint64_t result);
  void took_agreement(std::uint64_t result);

  Self self_;
  Bucket bucket_ = 0;
  RankMask expected_ = 0;
  bool admits_ = false;
  Step step_ = Step::load_bell;
  bool chunks_only_ = false;  // Decided; what it sleeps for are chunks.
  bool looks_at_workers_ = false;
  std::uint32_t rank_ = 0;
  RankMask live_ = 0;
  RankMask joining_ = 0;
  RankMask arrived_ = 0;
  RankMask waits_for_ = 0;
  std::uint64_t bell_ = 0;
  std::uint64_t seen_ = 0;  // The word that is exchanged next.
  Decision decision_ = {};
  std::uint32_t chunks_ = 0;
  std::uint32_t position_ = 0;    // In this pass.
  std::uint32_t first_open_ = 0;  // All positions before are done and collected.
  std::uint8_t scratch_ = 0;
};

}  // namespace headroom::averager::protocol
