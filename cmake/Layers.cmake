# One static library per line of src/LAYERS, linked to exactly what the line allows; one test program
# per layer from the *_test.cpp beside its code.

# Sets LAYER_FOLDERS and LAYER_USES_<folder> in the caller's scope.
macro(headroom_read_layers source_dir)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source_dir}/LAYERS)
  file(STRINGS ${source_dir}/LAYERS layer_lines REGEX "^[a-z]")
  set(LAYER_FOLDERS "")
  foreach(line IN LISTS layer_lines)
    string(REGEX REPLACE " *:.*" "" folder "${line}")
    string(REGEX REPLACE "^[^:]*:([^:]*):.*" "\\1" uses "${line}")
    string(REPLACE "/" "_" uses "${uses}")
    separate_arguments(uses)
    if(folder STREQUAL "trainer" AND NOT HEADROOM_TRAINER)
      continue()
    endif()
    list(APPEND LAYER_FOLDERS ${folder})
    set(LAYER_USES_${folder} ${uses})
  endforeach()
endmacro()

# Sets `out` to the files of a layer that match `pattern`: its folder and those below it, except where a
# folder below is a layer of its own.
function(headroom_layer_files out source_dir folder pattern)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${source_dir}/${folder}/${pattern})
  foreach(other IN LISTS LAYER_FOLDERS)
    if(other MATCHES "^${folder}/")
      list(FILTER files EXCLUDE REGEX "^${source_dir}/${other}/")
    endif()
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

function(headroom_layers source_dir)
  headroom_read_layers(${source_dir})
  foreach(folder IN LISTS LAYER_FOLDERS)
    string(REPLACE "/" "_" layer ${folder})
    headroom_layer_files(sources ${source_dir} ${folder} *.cpp)
    list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
    if(sources)
      add_library(${layer} STATIC ${sources})
      set(visibility PUBLIC)
    else()
      add_library(${layer} INTERFACE)
      set(visibility INTERFACE)
    endif()
    target_include_directories(${layer} ${visibility} ${source_dir})
    target_link_libraries(${layer} ${visibility} headroom_options ${LAYER_USES_${folder}})
    if(sources AND NOT layer MATCHES "^(trainer|cli)$")  # Nothing of these is in a shared library.
      set_target_properties(${layer} PROPERTIES POSITION_INDEPENDENT_CODE ON)
      target_compile_options(${layer} PRIVATE -fno-semantic-interposition)
    endif()
    if(HEADROOM_PCH AND sources AND NOT layer MATCHES "^(trainer|cli)$")  # These have their own.
      headroom_precompile(${layer} base <fmt/format.h> <functional> <map> <string> <vector>)
    endif()
    if(sources)
      headroom_unity(${layer})
    endif()
  endforeach()
endfunction()

# With HEADROOM_UNITY: compiles the sources of `target` in groups of files that can stand together.
# In a package it groups only the layers that are in programs alone. A library for other people's programs takes single
# files out of the others, and a group would bring it what they use as well: RE2's archive does not fit into a library.
function(headroom_unity target)
  if(NOT HEADROOM_UNITY OR (HEADROOM_PORTABLE AND NOT target MATCHES "^(findings|plan|deploy|service|cli|trainer|run_command)$"))
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(TRANSFORM sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "^[^/]")
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/unity_groups.py ${sources} OUTPUT_VARIABLE groups
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "|" groups "${groups}")
  string(REPLACE "\n" ";" groups "${groups}")
  set(number 0)
  foreach(group IN LISTS groups)
    math(EXPR number "${number} + 1")
    string(REPLACE "|" ";" files "${group}")
    set_source_files_properties(${files} PROPERTIES UNITY_GROUP ${target}_${number})  # One of two targets is in a group of its own.
  endforeach()
  # A type of the unnamed namespace in a member is what every file has; g++ says so of included ones alone.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# Compiles headers once for `owner` and lets `target` use them as well. nlohmann/json.hpp is not among
# them: one file in six includes it, and every other one would wait half a second for it to be loaded.
function(headroom_precompile target owner)
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

function(headroom_layer_tests source_dir)
  headroom_read_layers(${source_dir})
  foreach(folder IN LISTS LAYER_FOLDERS)
    string(REPLACE "/" "_" layer ${folder})
    headroom_layer_files(sources ${source_dir} ${folder} *_test.cpp)
    if(sources)
      set(plain "")
      if(layer STREQUAL "trainer")
        set(plain PLAIN)  # It has one of its own, with libtorch's headers.
      endif()
      set(shards 1)
      if(layer MATCHES "^(estimate|trainer|allocator_backends)$")  # Those that take longest.
        set(shards 2)
      endif()
      headroom_test_program(${layer}_test ${folder} SOURCES ${sources} USES ${layer} rapidcheck ${plain} SHARDS ${shards})
      if(HEADROOM_PCH AND layer STREQUAL "trainer")
        target_compile_definitions(trainer_test PRIVATE HEADROOM_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
        headroom_precompile(trainer_test trainer_test <ATen/ATen.h> <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h>)
      endif()
    endif()
  endforeach()
endfunction()
