// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/ranks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "averager/kernels.h"
#include "trainer/ranks/shared_group.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using averager::ElementType;
constexpr const char* another_ended = "another rank ended before the job did";

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
    const at::Tensor here = tensor.cpu();
    if (!tensor.is_cpu()) away_.push_back({tensor, here});
    auto* from = static_cast<std::byte*>(here.data_ptr());
    std::uint64_t left = here.nbytes();
    while (left > 0) {
      const std::uint64_t bytes = std::min(left, ranks_.group_->staging_bytes() - used_);
      averager::copy(from, ranks_.group_->staging() + used_, bytes);
      pieces_.push_back({from, bytes});
      from += bytes;
      left -= bytes;
      used_ += bytes;
      if (used_ < ranks_.group_->staging_bytes()) continue;
      HEADROOM_TRY(const bool together, flush());
      if (!together) return false;
    }
    return true;
  }

  Result<bool> flush() {
    if (used_ == 0) return true;
    HEADROOM_TRY(const bool together, ranks_.sum(type_, used_ / averager::bytes_of(type_)));
    if (!together) return false;
    const std::byte* from = ranks_.group_->staging();
    for (const Piece& piece : pieces_) {
      averager::copy(from, piece.into, piece.bytes);
      from += piece.bytes;
    }
    for (const Away& away : away_) away.tensor.copy_(away.here);
    // The last one may still have pieces to come.
    if (away_.size() > 1) away_.erase(away_.begin(), away_.end() - 1);
    pieces_.clear();
    used_ = 0;
    return true;
  }

 private:
  struct Piece {
    std::byte* into;
    std::uint64_t bytes;
  };

  // A tensor of a GPU, and its copy here, which is summed and copied back.
  struct Away {
    at::Tensor tensor, here;
  };

  Ranks& ranks_;
  ElementType type_ = ElementType::float32;
  std::vector<Away> away_;
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
  HEADROOM_TRY(auto group, join_shared_memory(place, job, std::move(mapping), message_bytes));
  return Ranks(place, std::move(group));
}

Ranks::Ranks(const RankPlace& place, std::unique_ptr<RankGroup> group)
    : rank_(place.rank),
      ranks_(place.ranks),
      present_(group->present()),
      group_(std::move(group)) {}

std::uint32_t Ranks::turn() const {
  const std::uint32_t before = present_ & ((1U << rank_) - 1);
  return static_cast<std::uint32_t>(std::popcount(before));
}

std::pair<std::size_t, std::size_t> Ranks::share(std::size_t count) const {
  const auto all = static_cast<std::size_t>(std::popcount(present_));
  return {count * turn() / all, count * (turn() + 1) / all};
}

Result<bool> Ranks::sum(ElementType type, std::uint64_t elements) {
  HEADROOM_TRY(const std::uint32_t present, group_->sum(type, elements));
  return take_present(present);
}

Status Ranks::share_out(std::uint32_t from, std::uint64_t bytes) {
  HEADROOM_TRY(const std::uint32_t present, group_->broadcast(from, bytes));
  take_present(present);
  return Done{};
}

bool Ranks::take_present(std::uint32_t present) {
  const std::uint32_t gone = present_ & ~present;
  lost_ |= gone;
  present_ &= ~gone;
  if ((gone >> leader_ & 1U) != 0) leader_ = static_cast<std::uint32_t>(std::countr_zero(present_));
  return gone == 0;
}

Result<std::uint32_t> Ranks::admit() {
  HEADROOM_TRY(const RankGroup::Border border, group_->border());
  take_present(border.present);
  present_ |= border.joined;
  lost_ &= ~border.joined;
  return border.joined;
}

Result<std::uint64_t> Ranks::catch_up(std::optional<std::uint64_t> steps) {
  bool together = true;
  HEADROOM_TRY(const std::vector<Told> told,
               tell_present({steps ? 1.0 : 0.0, static_cast<double>(steps.value_or(0)),
                             steps && leads() ? 1.0 : 0.0},
                            &together));
  if (steps) return *steps;
  // Who writes has written the state down before it told this.
  for (const Told& one : told) {
    if (one.numbers[0] == 0 || one.numbers[2] == 0) continue;
    leader_ = one.rank;
    return static_cast<std::uint64_t>(one.numbers[1]);
  }
  return ended_by_another_rank();
}

Result<std::vector<Told>> Ranks::tell_present(const std::vector<double>& numbers, bool* together) {
  const std::size_t row = numbers.size() * parts;
  std::vector<float> table(row * ranks_, 0.0F);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Parts split = take_apart(numbers[i]);
    std::copy(split.begin(), split.end(),
              table.begin() + static_cast<std::ptrdiff_t>(row * rank_ + i * parts));
  }
  std::memcpy(group_->staging(), table.data(), table.size() * sizeof(float));
  HEADROOM_TRY(*together, sum(ElementType::float32, table.size()));
  std::memcpy(table.data(), group_->staging(), table.size() * sizeof(float));
  std::vector<Told> told;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if ((present_ >> rank & 1U) == 0) continue;
    Told one{rank, {}};
    for (std::size_t i = 0; i < numbers.size(); ++i)
      one.numbers.push_back(put_together(&table[row * rank + i * parts]));
    told.push_back(std::move(one));
  }
  return told;
}

Result<std::optional<std::vector<Told>>> Ranks::tell(const std::vector<double>& numbers) {
  if (is_alone()) return std::optional(std::vector<Told>{{rank_, numbers}});
  bool together = true;
  HEADROOM_TRY(std::vector<Told> told, tell_present(numbers, &together));
  if (!together) return std::optional<std::vector<Told>>();
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
  const std::uint64_t most = group_->staging_bytes() / averager::bytes_of(element);
  auto* data = own.defined() ? static_cast<std::byte*>(own.data_ptr()) : nullptr;
  for (std::uint64_t done = 0; done < elements; done += most) {
    const std::uint64_t now = std::min(most, elements - done);
    const std::uint64_t bytes = now * averager::bytes_of(element);
    std::byte* const piece = data == nullptr ? nullptr : data + done * averager::bytes_of(element);
    if (piece != nullptr) {
      averager::copy(piece, group_->staging(), bytes);
    } else {
      std::memset(group_->staging(), 0, bytes);
    }
    HEADROOM_CHECK(sum(element, now));
    if (piece != nullptr) averager::copy(group_->staging(), piece, bytes);
  }
  return Done{};
}

Status Ranks::spread(
    std::uint32_t from, const std::byte* data, std::uint64_t bytes,
    const std::function<Status(const std::byte* piece, std::uint64_t bytes)>& take) {
  const std::uint64_t most = group_->staging_bytes();
  for (std::uint64_t done = 0; done < bytes; done += most) {
    const std::uint64_t now = std::min(most, bytes - done);
    if (rank_ == from) averager::copy(data + done, group_->staging(), now);
    HEADROOM_CHECK(share_out(from, now));
    HEADROOM_CHECK(take(group_->staging(), now));
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
