# fmt and toml++ as archives, for builds that cannot use the distribution's shared ones: sets HEADROOM_FMT and HEADROOM_TOML.
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
set(HEADROOM_FMT headroom_fmt)
set(HEADROOM_TOML headroom_toml)
