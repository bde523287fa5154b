// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/ranks.h"

#include <ATen/ATen.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "averager/kernels.h"
#include "run/job_ranks.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using averager::ElementType;
static_assert(run::most_job_ranks == averager::protocol::max_ranks);

constexpr std::uint32_t meet_ms = 60'000, silent_ms = 10'000;
// How far apart ranks may be: one writes a checkpoint while the others wait, and a micro-batch of a
// large model takes minutes on a processor. One that ended is noticed at once all the same.
constexpr std::uint32_t absent_ms = 30 * 60'000;
constexpr std::uint32_t slots = 2, chunk_bytes = 128U << 10U;
constexpr std::uint64_t most_staging = 16U << 20U, least_staging = 1U << 20U;
constexpr std::uint64_t staging_of_stages = 2U << 20U;
constexpr const char* folder = "/dev/shm";
constexpr const char* another_ended = "another rank ended before the job did";

// A function of the file system's size and not of what is free, so that all ranks find the same.
std::uint64_t staging_for(std::uint32_t ranks) {
  struct statvfs system {};
  if (::statvfs(folder, &system) != 0) return least_staging;
  const std::uint64_t half = std::uint64_t{system.f_blocks} * system.f_frsize / 2 / ranks;
  return std::clamp(half, least_staging, most_staging) / averager::page_bytes *
         averager::page_bytes;
}

// Of the arena: the pieces that are added up or told, and streams. Ranks that share a model's
// layers add little up.
std::uint64_t arena_for(std::uint32_t ranks, std::uint64_t message_bytes) {
  if (message_bytes == 0) return staging_for(ranks);
  return staging_of_stages + averager::Streams::bytes_for(message_bytes);
}

averager::Options options_for(const RankPlace& place, std::uint64_t job,
                              std::uint64_t message_bytes) {
  averager::Options options;
  options.place.name = place.job + ".train";
  options.terms = {.job = job,
                   .arena_bytes = arena_for(place.ranks, message_bytes),
                   .ranks = place.ranks,
                   .slots = slots,
                   .chunk_bytes = chunk_bytes,
                   .policy = static_cast<std::uint32_t>(place.goes_on ? averager::Policy::finish
                                                                      : averager::Policy::fail)};
  options.rank = place.rank;
  options.meet_ms = meet_ms;
  options.times = {.silent_ms = silent_ms, .absent_ms = absent_ms};
  return options;
}

// A double is the sum of three floats, each of which holds the next 24 of its 53 bits. Zeros that
// other ranks add change none of them.
constexpr std::size_t parts = 3;
using Parts = std::array<float, parts>;

Parts take_apart(double number) {
  Parts split{};
  for (float& part : split) {
    part = static_cast<float>(number);
    number -= static_cast<double>(part);
  }
  return split;
}

double put_together(const float* split) {
  return static_cast<double>(split[0]) +
         (static_cast<double>(split[1]) + static_cast<double>(split[2]));
}

ElementType type_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 ? ElementType::bfloat16 : ElementType::float32;
}

}  // namespace

// Pieces of gradients side by side in the segment, as many as fit, and where they belong.
class Ranks::Staging {
 public:
  explicit Staging(Ranks& ranks) : ranks_(ranks) {}

  // Adds a tensor's elements; what was there before is summed whenever it is full. Returns whether
  // all ranks were there.
  Result<bool> add(const at::Tensor& tensor) {
    const ElementType type = type_of(tensor);
    if (type != type_ && used_ > 0) {
      HEADROOM_TRY(const bool together, flush());
      if (!together) return false;
    }
    type_ = type;
    auto* from = static_cast<std::byte*>(tensor.data_ptr());
    std::uint64_t left = tensor.nbytes();
    while (left > 0) {
      const std::uint64_t bytes = std::min(left, ranks_.staging_bytes_ - used_);
      averager::copy(from, ranks_.staging_ + used_, bytes);
      pieces_.push_back({from, bytes});
      from += bytes;
      left -= bytes;
      used_ += bytes;
      if (used_ < ranks_.staging_bytes_) continue;
      HEADROOM_TRY(const bool together, flush());
      if (!together) return false;
    }
    return true;
  }

  Result<bool> flush() {
    if (used_ == 0) return true;
    HEADROOM_TRY(const bool together, ranks_.sum(type_, used_ / averager::bytes_of(type_)));
    if (!together) return false;
    const std::byte* from = ranks_.staging_;
    for (const Piece& piece : pieces_) {
      averager::copy(from, piece.into, piece.bytes);
      from += piece.bytes;
    }
    pieces_.clear();
    used_ = 0;
    return true;
  }

 private:
  struct Piece {
    std::byte* into;
    std::uint64_t bytes;
  };

  Ranks& ranks_;
  ElementType type_ = ElementType::float32;
  std::vector<Piece> pieces_;
  std::uint64_t used_ = 0;
};

Error ended_by_another_rank() {
  return {Errc::io, another_ended, "what it printed says why; then the same command with --resume"};
}

bool is_of_another_rank(const Error& error) {
  return error.message == another_ended;
}

Result<Ranks> Ranks::join(const RankPlace& place, std::uint64_t job,
                          std::shared_ptr<averager::SharedMapping> mapping,
                          std::uint64_t message_bytes) {
  averager::Options options = options_for(place, job, message_bytes);
  options.mapping = std::move(mapping);
  Ranks ranks;
  HEADROOM_TRY(ranks.averager_, averager::Averager::open(options));
  // All are here, and nobody comes later: without a name nothing can be left behind. Others of them
  // may have removed it already.
  static_cast<void>(::unlink(options.place.path().c_str()));
  ranks.rank_ = place.rank;
  ranks.ranks_ = place.ranks;
  ranks.present_ = averager::protocol::all_of(place.ranks);
  ranks.staging_bytes_ = message_bytes == 0 ? options.terms.arena_bytes : staging_of_stages;
  HEADROOM_TRY(ranks.staging_, ranks.averager_->allocate(ranks.staging_bytes_));
  if (message_bytes > 0) {
    HEADROOM_TRY(averager::Streams streams,
                 averager::Streams::make(*ranks.averager_, message_bytes));
    ranks.streams_.emplace(std::move(streams));
  }
  return ranks;
}

std::uint32_t Ranks::turn() const {
  const std::uint32_t before = present_ & ((1U << rank_) - 1);
  return static_cast<std::uint32_t>(std::popcount(before));
}

std::pair<std::size_t, std::size_t> Ranks::share(std::size_t count) const {
  const auto all = static_cast<std::size_t>(std::popcount(present_));
  return {count * turn() / all, count * (turn() + 1) / all};
}

Result<bool> Ranks::sum(ElementType type, std::uint64_t elements) {
  return do_with_all(
      {.kind = averager::Kind::sum, .type = type, .data = staging_, .elements = elements});
}

Status Ranks::share_out(std::uint32_t from, std::uint64_t elements) {
  HEADROOM_CHECK(do_with_all({.kind = averager::Kind::broadcast,
                              .type = ElementType::float32,
                              .data = staging_,
                              .elements = elements,
                              .root = from}));
  return Done{};
}

Result<bool> Ranks::do_with_all(const averager::Request& request) {
  HEADROOM_TRY(const auto ticket, averager_->start(request));
  auto outcome = averager_->wait(ticket);
  if (!outcome && outcome.error().code == Errc::io) return ended_by_another_rank();
  if (!outcome) return std::move(outcome).error();
  const std::uint32_t gone = present_ & ~std::uint32_t{outcome->present};
  lost_ |= gone;
  present_ &= ~gone;
  return gone == 0;
}

Result<std::optional<std::vector<Told>>> Ranks::tell(const std::vector<double>& numbers) {
  if (is_alone()) return std::optional(std::vector<Told>{{rank_, numbers}});
  const std::size_t row = numbers.size() * parts;
  std::vector<float> table(row * ranks_, 0.0F);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Parts split = take_apart(numbers[i]);
    std::copy(split.begin(), split.end(),
              table.begin() + static_cast<std::ptrdiff_t>(row * rank_ + i * parts));
  }
  std::memcpy(staging_, table.data(), table.size() * sizeof(float));
  HEADROOM_TRY(const bool together, sum(ElementType::float32, table.size()));
  if (!together) return std::optional<std::vector<Told>>();
  std::memcpy(table.data(), staging_, table.size() * sizeof(float));
  std::vector<Told> told;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if ((present_ >> rank & 1U) == 0) continue;
    Told one{rank, {}};
    for (std::size_t i = 0; i < numbers.size(); ++i)
      one.numbers.push_back(put_together(&table[row * rank + i * parts]));
    told.push_back(std::move(one));
  }
  return std::optional(std::move(told));
}

Result<bool> Ranks::add_up(std::deque<Parameter>& parameters) {
  if (is_alone()) return true;
  Staging staging(*this);
  for (Parameter& parameter : parameters) {
    if (!parameter.grad.defined()) {
      const TagScope scope(allocator::Component::gradients);
      parameter.grad = at::zeros_like(parameter.value);
    }
    HEADROOM_TRY(const bool together, staging.add(parameter.grad));
    if (!together) return false;
  }
  return staging.flush();
}

Status Ranks::add_up(const at::Tensor& own, at::ScalarType type, std::uint64_t elements) {
  const ElementType element = type == at::kBFloat16 ? ElementType::bfloat16 : ElementType::float32;
  const std::uint64_t most = staging_bytes_ / averager::bytes_of(element);
  auto* data = own.defined() ? static_cast<std::byte*>(own.data_ptr()) : nullptr;
  for (std::uint64_t done = 0; done < elements; done += most) {
    const std::uint64_t now = std::min(most, elements - done);
    const std::uint64_t bytes = now * averager::bytes_of(element);
    std::byte* const piece = data == nullptr ? nullptr : data + done * averager::bytes_of(element);
    if (piece != nullptr) {
      averager::copy(piece, staging_, bytes);
    } else {
      std::memset(staging_, 0, bytes);
    }
    HEADROOM_CHECK(sum(element, now));
    if (piece != nullptr) averager::copy(staging_, piece, bytes);
  }
  return Done{};
}

Status Ranks::spread(
    std::uint32_t from, const std::byte* data, std::uint64_t bytes,
    const std::function<Status(const std::byte* piece, std::uint64_t bytes)>& take) {
  constexpr std::uint64_t unit = averager::bytes_of(ElementType::float32);
  for (std::uint64_t done = 0; done < bytes; done += staging_bytes_) {
    const std::uint64_t now = std::min(staging_bytes_, bytes - done);
    if (rank_ == from) averager::copy(data + done, staging_, now);
    HEADROOM_CHECK(share_out(from, (now + unit - 1) / unit));
    HEADROOM_CHECK(take(staging_, now));
  }
  return Done{};
}

Result<std::vector<std::string>> Ranks::gather(const std::string& text) {
  HEADROOM_TRY(const auto told, tell({static_cast<double>(text.size())}));
  if (!told) return ended_by_another_rank();
  std::vector<std::string> texts;
  for (const Told& one : *told) {
    std::string& into = texts.emplace_back();
    HEADROOM_CHECK(spread(one.rank, reinterpret_cast<const std::byte*>(text.data()),
                          static_cast<std::uint64_t>(one.numbers.front()),
                          [&](const std::byte* piece, std::uint64_t bytes) -> Status {
                            into.append(reinterpret_cast<const char*>(piece), bytes);
                            return Done{};
                          }));
  }
  return texts;
}

}  // namespace headroom::trainer
