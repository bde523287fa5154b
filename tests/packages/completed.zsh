# SPDX-License-Identifier: Apache-2.0
# Prints what Tab makes of the line $1 in an interactive zsh that was told nothing but to complete. $2: a folder for fpath.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=($2 \$fpath)"
zpty -w shell 'autoload -Uz compinit; compinit -u -D; show() { print -r -- "line<$BUFFER>"; exit }; zle -N show; bindkey "^X" show'
zpty -w -n shell "$1"$'\t\x18'
zpty -r -m shell seen '*line<[^$]*>*'
print -r -- ${${seen##*line<}%%>*}
