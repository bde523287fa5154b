# Installs the man pages and completions that were written into ${CMAKE_BINARY_DIR}/pages: man/PROGRAM*.1 and
# completions/{bash,zsh,fish}/PROGRAM, with what each shell has around the name. headroom-train has a component of its own.
set(pages ${CMAKE_BINARY_DIR}/pages)
set(folders man ${CMAKE_INSTALL_MANDIR}/man1
  completions/bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  completions/zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
  completions/fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
while(folders)
  list(POP_FRONT folders from to)
  install(DIRECTORY ${pages}/${from}/ DESTINATION ${to} COMPONENT headroom OPTIONAL
    PATTERN *headroom-train* EXCLUDE)
  if(HEADROOM_TRAINER)
    install(DIRECTORY ${pages}/${from}/ DESTINATION ${to} COMPONENT train OPTIONAL
      FILES_MATCHING PATTERN *headroom-train*)
  endif()
endwhile()
