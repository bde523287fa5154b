# Man pages and completions, which a program writes from its own command line, in ${CMAKE_BINARY_DIR}/pages:
#   man/*.1
#   completions/{bash,zsh,fish}/*
# This file is included by the build, and run by it (cmake -P) with PROGRAM, WORD and FOLDER.

# `word` is what makes `program` write them. The target is called `program`_pages.
function(headroom_pages program word)
  set(folder ${CMAKE_BINARY_DIR}/pages)
  set(stamp ${folder}/${program}.stamp)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> -DWORD=${word} -DFOLDER=${folder}
            -P ${CMAKE_SOURCE_DIR}/cmake/Pages.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${program} ${CMAKE_SOURCE_DIR}/cmake/Pages.cmake
    COMMENT "Writing man pages and completions of ${program}" VERBATIM)
  add_custom_target(${program}_pages ALL DEPENDS ${stamp})
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  file(MAKE_DIRECTORY ${FOLDER}/man ${FOLDER}/completions/bash ${FOLDER}/completions/zsh ${FOLDER}/completions/fish)
  string(TIMESTAMP date "%Y-%m-%d" UTC)  # SOURCE_DATE_EPOCH's, where that is set.
  execute_process(COMMAND ${PROGRAM} ${WORD} ${FOLDER} ${date} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} ${WORD}: expected exit code 0, found ${result}")
  endif()
endif()
