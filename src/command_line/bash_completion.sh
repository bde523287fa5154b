# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the bash completion of every program of ours begins with. PROGRAM and FUNCTION are replaced by the program's name
# and the beginning of its functions' names; FUNCTION_candidates is written behind it from the command line. A variable
# of this file is one of bash's (COMP_WORDS, COMP_CWORD, COMPREPLY) or local.

# bash completion for PROGRAM, written by the program from its own command line.

# FUNCTION_reply WORD KIND WORDS: what begins with WORD, of WORDS and of files or folders.
FUNCTION_reply() {
  local word=$1 kind=$2 words=$3
  COMPREPLY=()
  case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word") ;;
    file)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -W "$words" -- "$word") ;;
    folder)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -W "$words" -- "$word") ;;
  esac
}

# FUNCTION_behind N: word N begins another command, which is completed by its own rules.
FUNCTION_behind() {
  local first=$1
  if declare -F _command_offset >/dev/null; then
    _command_offset "$first"
  elif ((COMP_CWORD == first)); then
    mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
  else
    FUNCTION_reply "${COMP_WORDS[COMP_CWORD]}" file ""
  fi
}

FUNCTION_complete() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command="" i
  # "--root=DIR" arrives as three words.
  if [[ $word == "=" ]]; then
    word=""
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --)
        FUNCTION_behind "$((i + 1))"
        return ;;
      -*) ;;
      *) [[ -n $command ]] || command=${COMP_WORDS[i]} ;;
    esac
  done
  FUNCTION_candidates "$command" "$word" "$before"
}

complete -F FUNCTION_complete PROGRAM
