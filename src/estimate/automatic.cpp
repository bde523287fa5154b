// SPDX-License-Identifier: Apache-2.0
#include "estimate/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "estimate/search.h"
#include "estimate/setting_estimate.h"

namespace headroom::estimate {
namespace {

constexpr const char* automatic_word = "auto";
constexpr double speed_step = 0.02;  // Speeds nearer to each other than this are equal.

bool is_automatic(const Json& job, const char* table, const char* key) {
  if (!job.is_object()) return false;
  const auto found = job.find(table);
  if (found == job.end() || !found->is_object()) return false;
  const auto value = found->find(key);
  return value != found->end() && *value == automatic_word;
}

using Words = std::vector<const char*>;

// What is tried of one setting: all that the trainer has where it is automatic, else what is given,
// which is an empty word.
Words words_of(bool automatic, Words all) {
  return automatic ? std::move(all) : Words{""};
}

// One way to offload what is automatic.
struct Offloaded {
  bool optimizer = false, activations = false;
};

std::vector<Offloaded> ways_to_offload(const Automatic& automatic) {
  std::vector<Offloaded> ways;
  if (automatic.offload) ways.push_back({.optimizer = true});
  if (automatic.activations) ways.push_back({.activations = true});
  if (ways.size() == 2) ways.push_back({.optimizer = true, .activations = true});
  return ways;
}

Json with_offloaded(Json job, const Offloaded& offloaded) {
  if (offloaded.optimizer) job["optimizer"]["offload"] = true;
  if (offloaded.activations) job["compute"]["activation_offloading"] = true;
  return job;
}

Json with_words(Json job, const std::vector<std::pair<const char*, const char*>>& words) {
  for (const auto& [key, word] : words)
    if (*word != '\0') job["compute"][key] = word;
  return job;
}

bool wants_masters(const Json& job) {
  return job.contains("optimizer") && job["optimizer"].is_object() &&
         job["optimizer"].value("master", Json()) == "fp32";
}

// Every combination of type, kernel, loss and checkpointing, what is preferred first. The
// micro-batch stays open where it is.
Result<std::vector<Job>> combinations(const Document& given, const Automatic& automatic,
                                      const Offloaded& offloaded) {
  const Document job{with_offloaded(given.value, offloaded), given.lines};
  std::vector<Job> jobs;
  Words types = words_of(automatic.dtype, {"fp32", "bf16"});
  if (automatic.dtype && wants_masters(job.value)) types = {"bf16"};  // Of others there are none.
  for (const char* dtype : types)
    for (const char* attention : words_of(automatic.attention, {"efficient", "math"}))
      for (const char* loss : words_of(automatic.loss, {"eager", "chunked"}))
        for (const char* kept : words_of(automatic.checkpointing, {"none", "selective", "layer"})) {
          const Document one{with_words(job.value, {{"dtype", dtype},
                                                    {"attention", attention},
                                                    {"loss", loss},
                                                    {"checkpointing", kept}}),
                             job.lines};
          HEADROOM_TRY(Job parsed, parse_job(one));
          jobs.push_back(std::move(parsed));
        }
  return jobs;
}

// Tokens a second on paper. Products are in fp32 whatever the type is (trainer/ops/product.h).
Result<double> speed_of(Job job, const Architecture& model, const Device& device) {
  if (job.method.base == format_of(job.compute.dtype)) job.method.base = format_of(DType::fp32);
  job.compute.dtype = job.compute.residual = job.compute.embeddings = DType::fp32;
  job.optimizer.master = Master::none;
  HEADROOM_TRY(SettingEstimator estimator, SettingEstimator::make(job, model, device));
  HEADROOM_TRY(const SettingEstimate seen, estimator.at(job));
  return seen.tokens_per_second;
}

Result<Tried> try_combination(Job open, const Architecture& model, const Device& device,
                              const TryJob& try_job) {
  Tried tried;
  open.compute.attention = attention_for(open, device);
  HEADROOM_TRY(tried.job, choose_automatic(std::move(open), model, device, try_job));
  HEADROOM_TRY(const Fit fit, try_job(tried.job));
  HEADROOM_TRY(tried.relative_speed, speed_of(tried.job, model, device));
  tried.fits = fit.fits;
  tried.allocated_bytes = fit.allocated_bytes;
  tried.device_bytes = fit.device_bytes;
  return tried;
}

long speed_rank(const Tried& tried) {
  return std::lround(std::log(tried.relative_speed) / speed_step);
}

// What fits before what does not; of the former the fastest, of the latter what needs least.
bool comes_before(const Tried& a, const Tried& b) {
  if (a.fits != b.fits) return a.fits;
  if (!a.fits) return a.allocated_bytes < b.allocated_bytes;
  return speed_rank(a) > speed_rank(b);
}

Json settings_of(const Job& job) {
  return {{"dtype", to_string(job.compute.dtype)},
          {"attention", to_string(*job.compute.attention)},
          {"loss", to_string(job.compute.loss)},
          {"checkpointing", to_string(job.compute.checkpointing)},
          {"micro", *job.batch.micro},
          {"accumulate", *job.batch.accumulate},
          {"offload", job.optimizer.offload},
          {"activation_offloading", job.compute.activation_offloading}};
}

std::vector<std::string> keys_of(const Automatic& automatic) {
  std::vector<std::string> keys;
  for (const auto& [is_open, key] : {std::pair{automatic.dtype, "compute.dtype"},
                                     {automatic.attention, "compute.attention"},
                                     {automatic.loss, "compute.loss"},
                                     {automatic.checkpointing, "compute.checkpointing"},
                                     {automatic.micro, "batch.micro"},
                                     {automatic.offload, "optimizer.offload"},
                                     {automatic.activations, "compute.activation_offloading"}})
    if (is_open) keys.emplace_back(key);
  return keys;
}

}  // namespace

Automatic take_automatic(Json& job) {
  Automatic automatic{.dtype = is_automatic(job, "compute", "dtype"),
                      .attention = is_automatic(job, "compute", "attention"),
                      .loss = is_automatic(job, "compute", "loss"),
                      .checkpointing = is_automatic(job, "compute", "checkpointing"),
                      .micro = is_automatic(job, "batch", "micro"),
                      .offload = is_automatic(job, "optimizer", "offload"),
                      .activations = is_automatic(job, "compute", "activation_offloading")};
  for (const char* key : {"dtype", "attention", "loss", "activation_offloading"})
    if (is_automatic(job, "compute", key)) job["compute"].erase(key);
  if (automatic.offload) job["optimizer"].erase("offload");
  return automatic;
}

Result<Choice> choose_settings(const Document& job, const Automatic& automatic,
                               const Architecture& model, const Device& device) {
  const TryJob try_job = make_trial(model, device);
  HEADROOM_TRY(std::vector<Job> open, combinations(job, automatic, {}));
  bool may_offload = automatic.offloads();
  Choice choice{.automatic = automatic, .job = {}, .open = {}, .tried = {}};
  choice.knows_capacity = device.capacity.has_value();
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < open.size(); ++i) {
    HEADROOM_TRY(Tried tried, try_combination(open[i], model, device, try_job));
    if (choice.knows_capacity && i > 0 && comes_before(tried, choice.tried[chosen])) chosen = i;
    choice.tried.push_back(std::move(tried));
    const bool last = i + 1 == open.size();
    if (!last || !choice.knows_capacity || choice.tried[chosen].fits || !may_offload) continue;
    may_offload = false;
    for (const Offloaded& way : ways_to_offload(automatic)) {
      HEADROOM_TRY(const std::vector<Job> more, combinations(job, automatic, way));
      open.insert(open.end(), more.begin(), more.end());
    }
  }
  choice.open = open[chosen];
  choice.job = choice.tried[chosen].job;
  const auto first = choice.tried.begin();
  std::rotate(first, first + static_cast<std::ptrdiff_t>(chosen),
              first + static_cast<std::ptrdiff_t>(chosen) + 1);
  if (choice.knows_capacity)
    std::stable_sort(choice.tried.begin() + 1, choice.tried.end(), comes_before);
  const double speed = choice.tried.front().relative_speed;
  for (Tried& tried : choice.tried) tried.relative_speed /= speed;
  return choice;
}

Json to_json(const Choice& choice) {
  Json rejected = Json::array();
  Json chosen;
  for (std::size_t i = 0; i < choice.tried.size(); ++i) {
    const Tried& tried = choice.tried[i];
    Json one = settings_of(tried.job);
    if (!choice.automatic.offloads()) {
      one.erase("offload");
      one.erase("activation_offloading");
    }
    one["fits"] = choice.knows_capacity ? Json(tried.fits) : Json();
    one["device_bytes"] = choice.knows_capacity ? Json(tried.device_bytes) : Json();
    one["relative_speed"] = tried.relative_speed;
    if (i == 0) {
      chosen = std::move(one);
    } else {
      rejected.push_back(std::move(one));
    }
  }
  return {{"keys", keys_of(choice.automatic)}, {"chosen", chosen}, {"rejected", rejected}};
}

std::string to_line(const Choice& choice) {
  const Json settings = settings_of(choice.job);
  std::vector<std::string> words;
  for (const std::string& key : keys_of(choice.automatic)) {
    const std::string name = key.substr(key.find('.') + 1);
    words.push_back(fmt::format("{} = {}", name, settings[name].dump()));
  }
  const auto fitting = std::count_if(choice.tried.begin(), choice.tried.end(),
                                     [](const Tried& tried) { return tried.fits; });
  const auto others = static_cast<std::ptrdiff_t>(choice.tried.size()) - fitting;
  std::string why;
  if (!choice.knows_capacity) {
    why = "no capacity is known";
  } else if (fitting == 0) {
    why = "nothing fits, and this needs least";
  } else {
    why = choice.tried.size() == 1 ? "the largest that fits"
                                   : fmt::format("the fastest of {} that fit", fitting);
    if (others > 0) why += fmt::format("; {} do not fit", others);
  }
  return fmt::format("auto: {}: {}", join(words, ", "), why);
}

}  // namespace headroom::estimate
