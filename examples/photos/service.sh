#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts, stops and asks for the photo service: what a SERVICE.toml of kind "commands" names.
#
#   service.sh start | stop | status | logs
here=$(cd "$(dirname "$0")" && pwd)
cd "$here" || exit 1

case $1 in
  start)
    # A session of its own: it outlives whoever started it.
    setsid python3 "$here/photos.py" "$here/photos.conf" "${PHOTOS_MACHINE:-}" >>photos.log 2>&1 </dev/null &
    echo $! >photos.pid
    ;;
  stop)
    pid=$(cat photos.pid 2>/dev/null) || exit 0
    # The worker as well: the whole process group.
    kill -TERM -"$pid" 2>/dev/null || kill -TERM "$pid" 2>/dev/null
    rm -f photos.pid
    ;;
  status) kill -0 "$(cat photos.pid 2>/dev/null)" 2>/dev/null ;;
  logs) cat photos.log 2>/dev/null ;;
  *)
    echo "usage: service.sh start | stop | status | logs" >&2
    exit 2
    ;;
esac
