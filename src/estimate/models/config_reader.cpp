// SPDX-License-Identifier: Apache-2.0
#include "estimate/models/config_reader.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/document.h"
#include "base/text.h"

namespace headroom::estimate {
namespace {

// transformers' ACT2FN; names of one meaning side by side.
constexpr std::array<std::pair<std::string_view, Activation>, 12> activations{{
    {"silu", Activation::silu},
    {"swish", Activation::silu},
    {"gelu", Activation::gelu},
    {"gelu_python", Activation::gelu},
    {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_new", Activation::gelu_new},
    {"gelu_fast", Activation::gelu_new},
    {"quick_gelu", Activation::quick_gelu},
    {"relu", Activation::relu},
    {"relu2", Activation::relu2},
    {"gelu_tanh", Activation::gelu_tanh},
    {"gelu_accurate", Activation::gelu_new},
}};

const Json no_keys = Json::object();

}  // namespace

std::string shown(const Json* found) {
  if (found == nullptr) return "nothing";
  if (found->is_structured()) return found->is_object() ? "an object" : "an array";
  const std::string text = found->dump(-1, ' ', /*ensure_ascii=*/true);
  return text.size() > 60 ? text.substr(0, 60) + "…" : text;
}

std::string shown(const std::string& text) {
  const Json value = text;
  return shown(&value);
}

ConfigReader ConfigReader::inner(const char* key) {
  ConfigReader reader = *this;
  const Json* value = find({key});
  if (value != nullptr && !value->is_object()) fail(key, "a table");
  reader.object_ = value != nullptr && value->is_object() ? value : &no_keys;
  reader.prefix_ += std::string(key) + ".";
  return reader;
}

bool ConfigReader::is_null(const char* key) const {
  const auto found = object_->find(key);
  return found != object_->end() && found->is_null();
}

const Json* ConfigReader::find(const Names& names) const {
  for (const char* name : names) {
    const auto found = object_->find(name);
    if (found != object_->end() && !found->is_null()) return &*found;
  }
  return nullptr;
}

const char* ConfigReader::written(const Names& names) const {
  for (const char* name : names) {
    if (has(name)) return name;
  }
  return *names.begin();
}

void ConfigReader::fail(const char* key, const std::string& wanted, Errc code) {
  if (failed()) return;
  findings_->problem = Error{
      code, fmt::format("{}{}: expected {}, found {}", prefix_, key, wanted, shown(find({key}))),
      take_the_original};
}

void ConfigReader::fail_with(const std::string& key, const std::string& complaint, Errc code) {
  if (failed()) return;
  findings_->problem =
      Error{code, fmt::format("{}{}: {}", prefix_, key, complaint), take_the_original};
}

std::uint64_t ConfigReader::size(const Names& names, Range range,
                                 std::optional<std::uint64_t> class_default) {
  const Json* value = find(names);
  if (value == nullptr && class_default && is_inner()) return *class_default;
  const auto whole = value == nullptr ? std::nullopt : whole_number(*value);
  if (whole && *whole >= range.min && *whole <= range.max) return *whole;
  fail(written(names), fmt::format("a whole number from {} to {}", range.min, range.max));
  return 1;
}

std::uint64_t ConfigReader::size_or(const Names& names, Range range, std::uint64_t otherwise) {
  return find(names) == nullptr ? otherwise : size(names, range);
}

bool ConfigReader::flag_or(const Names& names, bool otherwise) {
  const Json* value = find(names);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) fail(written(names), "true or false");
  return value->is_boolean() && value->get<bool>();
}

double ConfigReader::positive_or(const Names& names, double otherwise) {
  const Json* value = find(names);
  if (value == nullptr) return otherwise;
  if (value->is_number() && value->get<double>() > 0) return value->get<double>();
  fail(written(names), "a number above 0");
  return otherwise;
}

double ConfigReader::probability_or(const Names& names, double otherwise) {
  const Json* value = find(names);
  if (value == nullptr) return otherwise;
  if (value->is_number() && value->get<double>() >= 0 && value->get<double>() <= 1) {
    return value->get<double>();
  }
  fail(written(names), "a number from 0 to 1");
  return otherwise;
}

std::string ConfigReader::text_or(const Names& names, const std::string& otherwise) {
  const Json* value = find(names);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  fail(written(names), "text");
  return otherwise;
}

Activation ConfigReader::activation_or(const Names& names, Activation otherwise) {
  const Json* value = find(names);
  if (value == nullptr) return otherwise;
  std::vector<std::string> known;
  for (const auto& [name, activation] : activations) {
    if (value->is_string() && *value == std::string(name)) return activation;
    known.emplace_back(name);
  }
  fail(written(names), "one of " + join(known, ", "), Errc::unsupported);
  return otherwise;
}

std::vector<std::uint64_t> ConfigReader::sizes_or(const char* key,
                                                  std::vector<std::uint64_t> otherwise) {
  const Json* value = find({key});
  if (value == nullptr) return otherwise;
  std::vector<std::uint64_t> all;
  const bool list = value->is_array();
  for (const Json& element : list ? *value : Json::array()) {
    const auto number = whole_number(element);
    if (number) all.push_back(*number);
  }
  if (!list || all.size() != value->size()) fail(key, "an array of whole numbers");
  return all;
}

std::vector<std::string> ConfigReader::texts(const char* key) {
  std::vector<std::string> all;
  const Json* value = find({key});
  if (value == nullptr) return all;
  if (!value->is_array()) {
    fail(key, "an array of texts");
    return all;
  }
  for (const Json& element : *value) {
    if (!element.is_string()) {
      fail_with(key, "expected an array of texts, found " + shown(&element) + " in it");
      return all;
    }
    all.push_back(element.get<std::string>());
  }
  return all;
}

}  // namespace headroom::estimate
