// SPDX-License-Identifier: Apache-2.0
// Reports about an allocator, for C: as text, as JSON, and as a snapshot.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/c_api/handle.h"
#include "allocator/c_api/last_error.h"
#include "allocator/forensics/diagnose.h"
#include "allocator/replay/recording.h"
#include "allocator/replay/snapshot_of_heap.h"
#include "allocator/snapshot/snapshot_writer.h"
#include "base/document.h"
#include "base/json_text.h"
#include "machine/output_files.h"
#include "machine/user_files.h"
#include "report/out_of_memory_json.h"

namespace headroom::allocator::c_api {
namespace {

// Works like snprintf(): copies what fits, ended by a zero, and returns the length of the whole
// text.
std::size_t copy_out(std::string_view text, char* buffer, std::size_t size) {
  if (buffer == nullptr || size == 0) return text.size();
  const std::size_t fits = std::min(text.size(), size - 1);
  text.copy(buffer, fits);
  buffer[fits] = '\0';
  return text.size();
}

HeapView view_of(State& state, const Request& request) {
  HeapView view = state.allocator.view(request);
  view.names = &state.names;
  return view;
}

Result<std::string> explain(headroom_allocator* handle, const headroom_request* asked,
                            std::uint32_t format) {
  HEADROOM_TRY(State* const state, use(handle));
  if (asked == nullptr || format > HEADROOM_FORMAT_JSON)
    return Error{Errc::invalid,
                 "expected a request and HEADROOM_FORMAT_TEXT or _JSON, found something else", ""};
  HEADROOM_TRY(const Component component, component_of(asked->tag.component));
  const Request request{asked->bytes, component, state->streams.find(asked->stream),
                        asked->tag.name};
  OutOfMemory problem = diagnose(view_of(*state, request));
  problem.has_job_file = false;
  return format == HEADROOM_FORMAT_JSON ? to_json_text(report::to_json(problem), 2)
                                        : to_text(problem);
}

Result<Snapshot> take_snapshot(State& state) {
  std::vector<std::string> names = {""};
  for (std::size_t i = 1; i <= state.names.size(); ++i)
    names.emplace_back(state.names.name(static_cast<NameId>(i)));
  Recording recording;
  if (state.recorder) {
    constexpr std::size_t most_bytes = std::size_t{4} << 30U;
    HEADROOM_TRY(const std::string bytes, machine::read_file(state.recording_path, most_bytes));
    HEADROOM_TRY(recording, parse_flight_record(bytes));
  }
  return to_snapshot(view_of(state, {}), recording.events, names, recording.start_unix_us);
}

Status write_snapshot(headroom_allocator* handle, const char* path) {
  HEADROOM_TRY(State* const state, use(handle));
  if (path == nullptr)
    return Error{Errc::invalid, "expected a path for the snapshot, found a null pointer", ""};
  HEADROOM_CHECK(machine::check_names({{"snapshot", path}}, {{state->recording_path}, {}}));
  HEADROOM_TRY(const Snapshot snapshot, take_snapshot(*state));
  return machine::write_file_atomic(path, to_pickle(snapshot));
}

}  // namespace
}  // namespace headroom::allocator::c_api

using namespace headroom::allocator::c_api;  // NOLINT(google-build-using-namespace)
using headroom::Result;

size_t headroom_allocator_describe(headroom_allocator* handle, char* buffer, size_t buffer_size) {
  return value_of<size_t>(0, [&]() -> Result<size_t> {
    HEADROOM_TRY(State* const state, use(handle));
    return copy_out(state->description, buffer, buffer_size);
  });
}

size_t headroom_explain(headroom_allocator* handle, const headroom_request* request,
                        uint32_t format, char* buffer, size_t buffer_size) {
  return value_of<size_t>(0, [&]() -> Result<size_t> {
    HEADROOM_TRY(const std::string text, explain(handle, request, format));
    return copy_out(text, buffer, buffer_size);
  });
}

headroom_result headroom_write_snapshot(headroom_allocator* handle, const char* path) {
  return status_of([&] { return write_snapshot(handle, path); });
}
