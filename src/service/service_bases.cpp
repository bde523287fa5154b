// SPDX-License-Identifier: Apache-2.0
#include "service/service_bases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "deploy/interpolation.h"
#include "machine/user_files.h"

namespace headroom::service {
namespace {

using deploy::DescribedService;
using deploy::Elsewhere;
using Services = std::vector<DescribedService>;

constexpr std::size_t largest_file = std::size_t{1} << 20U;
constexpr int most_files = 8;  // That build on each other.
constexpr std::size_t most_named = 8;

// "a/b.yml" → "a/".
std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash + 1);
}

// "a/../b/./c.yml" → "b/c.yml", by the text alone, as compose does it.
std::string shorten_path(const std::string& path) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else {
      parts.emplace_back(part);
    }
  }
  return (path.starts_with('/') ? "/" : "") + join(parts, "/");
}

void name_from(const std::string& folder, std::vector<Elsewhere>& places) {
  for (Elsewhere& one : places) {
    const bool varies = one.file.empty() || one.file.front() == '%' || one.file.front() == '$';
    if (varies || one.file.front() == '/') continue;
    one.file = shorten_path(folder + one.file);
  }
}

// Reads each file once, however many services name it.
class Bases {
 public:
  // The message alone says what is wrong.
  Result<DescribedService> find(const Elsewhere& place) {
    auto& services = files_.try_emplace(place.file, read(place.file)).first->second;
    if (!services) return services.error();
    for (const DescribedService& one : *services) {
      if (one.name == place.service) return one;
    }
    std::vector<std::string> names;
    for (const DescribedService& one : *services) names.push_back(one.name);
    return Error{
        Errc::not_found,
        fmt::format(
            "there is no service {}{}", place.service,
            names.empty() || names.size() > most_named ? "" : ", only " + join(names, ", ")),
        ""};
  }

 private:
  Result<Services> read(const std::string& path) {
    if (files_.contains(path)) return Services{};
    HEADROOM_TRY(const std::string text, machine::read_file(path, largest_file));
    HEADROOM_TRY(Services services, deploy::read_service_file(path, text));
    for (DescribedService& one : services) name_from(folder_of(path), one.elsewhere);
    return services;
  }

  std::map<std::string, Result<Services>> files_;
};

// The error's message, without the name of the file, which stands before it already.
std::string reason_of(const Error& error, const std::string& file) {
  const std::string named = "reading " + file + ": ";
  return error.message.starts_with(named) ? error.message.substr(named.size()) : error.message;
}

void build(DescribedService& service, Bases& bases) {
  for (int round = 0; round <= most_files; ++round) {
    const auto at =
        std::find_if(service.elsewhere.begin(), service.elsewhere.end(),
                     [](const Elsewhere& one) { return one.is_base() && one.can_be_read(); });
    if (at == service.elsewhere.end()) return;
    if (round == most_files) {
      at->why = "too many files build on each other";
      return;
    }
    const auto base = bases.find(*at);
    if (!base) {
      at->why = reason_of(base.error(), at->file);
      // Compose may be allowed to read what this user is not.
      at->refused = base.error().code == Errc::not_found || base.error().code == Errc::invalid;
      continue;
    }
    deploy::build_on(service, static_cast<std::size_t>(at - service.elsewhere.begin()), *base);
  }
}

Result<std::vector<facts::Setting>> read_variable_file(const std::string& path) {
  HEADROOM_TRY(const std::string text, machine::read_file(path, largest_file));
  return facts::parse_snippet(facts::Text(text, facts::Source{path, 0, ""}), facts::Scope::given);
}

// Gives the service what its files of variables say; the last one wins.
void read_variables(DescribedService& service) {
  for (std::size_t i = service.elsewhere.size(); i-- > 0;) {
    Elsewhere& place = service.elsewhere[i];
    // What a variable names is known when the service starts, and not before.
    const bool varies = place.file.find('$') != std::string::npos;
    if (!place.holds_variables() || !place.can_be_read() || varies) continue;
    const auto variables = read_variable_file(place.file);
    const bool absent = !variables && variables.error().code == Errc::not_found;
    if (variables) {
      deploy::take_variables(service, i, *variables);
    } else if (absent && place.optional) {
      deploy::take_variables(service, i, {});
    } else {
      place.why = reason_of(variables.error(), place.file);
      place.refused = absent;
    }
  }
}

// Those of the file .env in the folder, which compose reads by itself.
std::map<std::string, std::string> variables_beside(const std::string& folder) {
  std::map<std::string, std::string> variables;
  const auto read = read_variable_file(folder + ".env");
  if (!read) return variables;
  for (const facts::Setting& one : *read) variables[one.name] = one.value;
  return variables;
}

void fill_in_image(DescribedService& service, const std::map<std::string, std::string>& variables) {
  auto& image = service.settings.image;
  if (!image || service.kind != deploy::FileKind::compose) return;
  if (image->find('$') == std::string::npos) return;
  service.written_image = *image;
  image = deploy::fill_in_variables(*image, variables);
}

}  // namespace

void build_on_files(const std::string& file, Services& services) {
  if (file == "-") return;  // It has no folder.
  Bases bases;
  const auto variables = variables_beside(folder_of(file));
  for (DescribedService& service : services) {
    name_from(folder_of(file), service.elsewhere);
    build(service, bases);
    read_variables(service);
    fill_in_image(service, variables);
  }
}

}  // namespace headroom::service
