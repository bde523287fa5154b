# Puts files into the binaries, so that they need none at run time. Re-generated when one changes.

# data/*.toml into a layer, as `std::string_view headroom::<layer>::embedded(name)`.
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

# Shell, CSS and JavaScript beside the code of a layer: src/report/plan_page.css becomes
# `extern const std::string_view plan_page_css` in `namespace`, which a header declares. What belongs to the
# file alone stays out: its header (up to the first empty line) and directives of shellcheck.
function(headroom_embed_beside layer namespace)
  set(entries "")
  foreach(ending sh css js)
    headroom_layer_files(files ${CMAKE_SOURCE_DIR}/src ${layer} *.${ending})
    foreach(file IN LISTS files)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
      get_filename_component(name ${file} NAME)
      string(REPLACE "." "_" name ${name})
      file(READ ${file} text)
      string(FIND "${text}" "\n\n" header_end)
      if(header_end EQUAL -1)
        message(FATAL_ERROR "${file}: expected a header that ends with an empty line, found none")
      endif()
      math(EXPR begin "${header_end} + 2")
      string(SUBSTRING "${text}" ${begin} -1 text)
      string(REGEX REPLACE "\n *# shellcheck [^\n]*" "" text "${text}")
      string(APPEND entries "extern const std::string_view ${name};\n"
             "constinit const std::string_view ${name} = R\"embedded(${text})embedded\";\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${layer}_beside.cpp @ONLY CONTENT
"// Generated from src/@layer@ by cmake/Embed.cmake.
#include <string_view>
namespace @namespace@ {
@entries@}  // namespace @namespace@
")
  target_sources(${layer} PRIVATE ${CMAKE_BINARY_DIR}/${layer}_beside.cpp)
endfunction()
