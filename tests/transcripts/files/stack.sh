#!/bin/sh
# Stands for a Python whose framework passes every step, and ends in the training's third.
say() { printf '\nheadroom-step: %s\n' "$1"; }
if [ "$3" = frameworks ]; then say '{"frameworks": ["torch"]}'; exit 0; fi
say '{"begin": "import"}'
say '{"step": "import", "ok": true}'
say '{"devices": [], "version": "9.1"}'
for step in $(echo "$6" | tr , ' '); do
  say "{\"begin\": \"$step\"}"
  if [ "$step" = training ]; then
    for done in 1 2; do say "{\"progress\": {\"steps\": $done, \"seconds\": 0.5, \"loss\": 2, \"peak_bytes\": 9437184}}"; done
    if [ "$(basename "$0")" != good.sh ]; then
      echo 'OSError: [Errno 28] No space left on device' >&2
      exit 1
    fi
    say '{"progress": {"steps": 3, "seconds": 0.5, "loss": 1.5, "peak_bytes": 9437184}}'
  fi
  say "{\"step\": \"$step\", \"ok\": true}"
done
