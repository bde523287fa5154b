// SPDX-License-Identifier: Apache-2.0
#include "run/job_flags.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace headroom::run {
namespace {

struct Default {
  enum class For : std::uint8_t { all, training, inference };
  const char* key;
  const char* taken;
  For use = For::all;
};
constexpr Default defaults[] = {
    {"method.kind", "full fine-tuning (--method)"},
    {"compute.dtype", "bf16 (--dtype)"},
    {"batch.micro", "a micro-batch of 1 (--batch)", Default::For::training},
    {"batch.sequence", "{} tokens (--sequence)", Default::For::training},
    {"batch.micro", "one sample at a time (--batch)", Default::For::inference},
    {"batch.prompt", "a prompt of {} tokens (--prompt)", Default::For::inference},
    {"batch.generate", "no token generated after it (--generate)", Default::For::inference}};

// The length in the place of "{}", where the text has one.
std::string with_length(std::string text, std::uint64_t length) {
  const std::size_t at = text.find("{}");
  return at == std::string::npos ? text : text.replace(at, 2, std::to_string(length));
}

bool is_inference(const JobFlags& flags) {
  const auto method = flags.keys.find("method");
  return method != flags.keys.end() && method->value("kind", Json()) == "inference";
}

}  // namespace

void JobFlags::set(const std::string& key, Json value, const std::string& flag) {
  const std::size_t dot = key.find('.');
  keys[key.substr(0, dot)][key.substr(dot + 1)] = std::move(value);
  flags[key] = flag;
}

void JobFlags::add(const JobFlags& other) {
  if (other.names_model()) {
    keys.erase("model");
    flags.erase("model.name");
    flags.erase("model.config");
  }
  for (const auto& [key, flag] : other.flags) {
    const std::size_t dot = key.find('.');
    set(key, other.keys[key.substr(0, dot)][key.substr(dot + 1)], flag);
  }
}

void apply(const JobFlags& flags, Document& document) {
  if (!document.value.is_object()) document.value = Json::object();
  if (flags.names_model()) document.value.erase("model");
  for (const auto& [table, keys] : flags.keys.items()) {
    Json& place = document.value[table];
    if (!place.is_object()) place = Json::object();
    for (const auto& [key, value] : keys.items()) {
      place[key] = value;
      document.lines.erase(fmt::format("/{}/{}", table, key));
    }
  }
}

Error place_error(Error error, const JobFlags& flags, const std::string& name) {
  const auto flag = flags.flags.find(error.key);
  if (flag == flags.flags.end()) return std::move(error).in(name);
  // Who typed an option knows no keys of a file: neither that it is about nor those of the advice.
  const std::string key = error.key + ": ";
  if (error.message.starts_with(key)) error.message.erase(0, key.size());
  // "write kind = "lora"" of a file is "write --method lora" of its flag.
  const std::string assignment = error.key.substr(error.key.rfind('.') + 1) + " = \"";
  if (const auto at = error.next.find(assignment); at != std::string::npos) {
    const auto end = error.next.find('"', at + assignment.size());
    if (end != std::string::npos) {
      const std::string value =
          error.next.substr(at + assignment.size(), end - at - assignment.size());
      error.next.replace(at, end + 1 - at, flag->second + " " + value);
    }
  }
  constexpr std::string_view capacity = "device.capacity = \"16GiB\"";
  if (const auto at = error.next.find(capacity); at != std::string::npos) {
    error.next.replace(at, capacity.size(), "--capacity 16GiB");
  }
  return std::move(error).in(flag->second);
}

std::string default_note(const JobFlags& flags, const estimate::Job& job) {
  const auto other = is_inference(flags) ? Default::For::training : Default::For::inference;
  const std::uint64_t length =
      other == Default::For::training ? job.batch.prompt : job.batch.sequence;
  std::vector<std::string> taken;
  for (const Default& one : defaults) {
    // A prompt that is not given is as long as a sample.
    const bool follows =
        one.key == std::string_view("batch.prompt") && flags.flags.contains("batch.sequence");
    if (one.use != other && !follows && !flags.flags.contains(one.key))
      taken.push_back(with_length(one.taken, length));
  }
  return taken.empty() ? "" : fmt::format("By default: {}.", join(taken, ", "));
}

std::string unused_note(const JobFlags& flags, std::string_view program) {
  std::vector<std::string> unused;
  for (const auto& [key, flag] : flags.flags)
    if (!key.starts_with("device.") && key != "engine.kind") unused.push_back(flag);
  if (unused.empty()) return "";
  return fmt::format("Not used, because {} has its own options: {}.", program, join(unused, ", "));
}

}  // namespace headroom::run
