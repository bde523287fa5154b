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

include(cmake/HeaderArchives.cmake)
