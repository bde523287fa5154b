# What `headroom --version` says of its build: the compiler and its options, and the libraries by their versions, as far as
# they tell them. A bug report carries it. Nothing in it changes from one build of the same source to the next.

# The version that pkg-config knows of a library, in front of its name; without one the name alone.
function(headroom_version_of out name module)
  set(version "")
  if(PkgConfig_FOUND)
    execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --modversion ${module} OUTPUT_VARIABLE version
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  string(REGEX REPLACE "^0\\.0\\.0$" "" version "${version}")  # Debian's re2 does not know its own.
  string(STRIP "${name} ${version}" text)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Defines HEADROOM_BUILT_WITH in `source`.
function(headroom_built_with source)
  find_package(PkgConfig QUIET)
  set(libraries "")
  foreach(pair fmt=fmt re2=re2 libyaml=yaml-0.1 SQLite=sqlite3 libmd=libmd CLI11=CLI11 toml++=tomlplusplus
          nlohmann-json=nlohmann_json)
    string(REPLACE "=" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 module)
    headroom_version_of(text ${name} ${module})
    list(APPEND libraries ${text})
  endforeach()
  list(JOIN libraries ", " libraries)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(STRIP "${CMAKE_CXX_FLAGS_${type}}" options)
  set(linked "shared")
  if(HEADROOM_PORTABLE)
    set(linked "linked in")
  endif()
  set(compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(compiler "g++ ${CMAKE_CXX_COMPILER_VERSION}")
  endif()
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS
    "HEADROOM_BUILT_WITH=\"${CMAKE_SYSTEM_PROCESSOR}, ${compiler} ${options}\\nlibraries, ${linked}: ${libraries}\"")
endfunction()
