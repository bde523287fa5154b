# Test programs of GoogleTest. ctest runs a program as a whole, in SHARDS processes, and not once for each of its
# tests: starting thousands of processes took longer than the tests in them. Of one that fails ctest prints which
# tests did; the program itself runs single ones: build/dev/bin/plan_test --gtest_filter='Plan.*'.

# Registers `target` with ctest as `name`: as "name", or as "name 1/3" and so on.
#   headroom_add_tests(NAME TARGET [SHARDS N] [LABELS ...])
function(headroom_add_tests name target)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "SHARDS" "LABELS")
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(index RANGE ${last})
    set(one ${name})
    if(arg_SHARDS GREATER 1)
      math(EXPR number "${index} + 1")
      set(one "${name} ${number}/${arg_SHARDS}")
    endif()
    add_test(NAME "${one}" COMMAND ${target} --gtest_brief=1)
    set_tests_properties("${one}" PROPERTIES LABELS "${arg_LABELS}"
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# A test program of `SOURCES` that is linked to `USES`, and its tests. PLAIN: without GoogleTest's precompiled header,
# for one that is compiled with other options.
#   headroom_test_program(TARGET NAME SOURCES ... USES ... [PLAIN] [SHARDS N] [LABELS ...])
function(headroom_test_program target name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "PLAIN" "SHARDS" "SOURCES;USES;LABELS")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_USES} headroom_options GTest::gmock GTest::gtest_main)
  if(HEADROOM_PCH AND NOT arg_PLAIN)
    headroom_precompile(${target} base_test <gmock/gmock.h> <gtest/gtest.h> <fmt/format.h>)
  endif()
  headroom_unity(${target})
  headroom_add_tests(${name} ${target} SHARDS ${arg_SHARDS} LABELS ${arg_LABELS})
endfunction()
