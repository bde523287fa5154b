# Embeds data/*.toml into a layer as `std::string_view headroom::<layer>::embedded(name)`, so that the
# binaries need no files at run time. Re-generated when a table changes.

function(headroom_embed layer folder)
  file(GLOB tables CONFIGURE_DEPENDS ${folder}/*.toml)
  set(entries "")
  foreach(table IN LISTS tables)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
    get_filename_component(name ${table} NAME_WE)
    file(READ ${table} text)
    string(APPEND entries "  if (name == \"${name}\") return R\"toml(${text})toml\";\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${layer}_embedded.cpp @ONLY CONTENT
"// Generated from data/*.toml by cmake/Embed.cmake.
#include <string_view>
namespace headroom::@layer@ {
std::string_view embedded(std::string_view name) {
@entries@  return {};
}
}  // namespace headroom::@layer@
")
  target_sources(${layer} PRIVATE ${CMAKE_BINARY_DIR}/${layer}_embedded.cpp)
  # A table may be longer than the 65,536 characters that every compiler must take; those in use take more.
  set_source_files_properties(${CMAKE_BINARY_DIR}/${layer}_embedded.cpp PROPERTIES
    COMPILE_OPTIONS -Wno-overlength-strings)
endfunction()
