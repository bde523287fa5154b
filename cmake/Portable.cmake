# Third-party code linked in, so that the programs run on other distributions than the one that built them: for the
# packages. Every library has to be there as an archive; libstdc++ and libgcc are linked in where the program shares
# neither exceptions nor C++ objects with others' code, which is `headroom` alone (docs/decisions/0026).

# The archives, under the names that CMakeLists.txt links.
macro(headroom_find_archive variable name)
  find_library(${variable} lib${name}.a)
  if(NOT ${variable})
    message(FATAL_ERROR "HEADROOM_PORTABLE: expected lib${name}.a, found none; ./dev package installs it on Debian 12")
  endif()
endmacro()
headroom_find_archive(RE2_LIBRARY re2)
headroom_find_archive(YAML_LIBRARY yaml)
headroom_find_archive(MD_LIBRARY md)
headroom_find_archive(SQLite3_LIBRARY sqlite3)
headroom_find_archive(PCRE2_LIBRARY pcre2-8)
headroom_find_archive(UTF8PROC_LIBRARY utf8proc)
headroom_find_archive(EVENT_LIBRARY event_core)
headroom_find_archive(EVENT_HTTP_LIBRARY event_extra)
headroom_find_archive(NCURSES_LIBRARY ncursesw)
headroom_find_archive(TERMINFO_LIBRARY tinfo)

# Debian has fmt and toml++ as shared libraries only. Their headers hold all of their code; fmt_archive.cpp and toml_archive.cpp
# compile it once. What is defined is what their own targets define, so that our objects are the same as in other builds.
function(headroom_archive name target)
  get_target_property(folder ${target} INTERFACE_INCLUDE_DIRECTORIES)
  add_library(headroom_${name} STATIC ${CMAKE_SOURCE_DIR}/cmake/${name}_archive.cpp)
  target_include_directories(headroom_${name} SYSTEM PUBLIC ${folder})
  foreach(kind DEFINITIONS OPTIONS)
    get_target_property(values ${target} INTERFACE_COMPILE_${kind})
    if(values)
      set_target_properties(headroom_${name} PROPERTIES COMPILE_${kind} "${values}" INTERFACE_COMPILE_${kind} "${values}")
    endif()
  endforeach()
  set_target_properties(headroom_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()
headroom_archive(fmt fmt::fmt)
headroom_archive(toml tomlplusplus::tomlplusplus)
