// SPDX-License-Identifier: Apache-2.0
#include "trainer/quantised/code_tables.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace headroom::trainer::quantised {
namespace {

// factor · count + from, rounded once: the product of two floats is exact in double.
float multiply_add(float factor, double count, float from) {
  return static_cast<float>(static_cast<double>(factor) * count + static_cast<double>(from));
}

// torch.linspace(0.1, 1, count) in fp32, which counts its second half from the end.
std::vector<float> tenth_to_one(std::size_t count) {
  constexpr float first = 0.1F, last = 1.0F;
  const float step = (last - first) / static_cast<float>(count - 1);
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = i < count / 2 ? multiply_add(step, static_cast<double>(i), first)
                               : multiply_add(-step, static_cast<double>(count - 1 - i), last);
  }
  return numbers;
}

// Without a sign there are twice as many steps.
std::array<float, 256> make_dynamic_map(bool is_signed) {
  constexpr unsigned powers = 7;
  std::array<float, 256> map{};
  std::size_t next = 0;
  for (unsigned power = 0; power < powers; ++power) {
    const auto scale = static_cast<float>(std::pow(10.0, int(power) - int(powers - 1)));
    const std::vector<float> borders =
        tenth_to_one((std::size_t{1} << (is_signed ? power : power + 1)) + 1);
    for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
      const float middle = (borders[i] + borders[i + 1]) / 2;
      map[next++] = scale * middle;
      if (is_signed) map[next++] = -(scale * middle);
    }
  }
  map[next++] = 0;
  map[next++] = 1;
  std::sort(map.begin(), map.end());
  return map;
}

}  // namespace

const std::array<float, 256>& dynamic_map() {
  static const std::array<float, 256> map = make_dynamic_map(true);
  return map;
}

const std::array<float, 256>& unsigned_dynamic_map() {
  static const std::array<float, 256> map = make_dynamic_map(false);
  return map;
}

}  // namespace headroom::trainer::quantised
