#!/bin/sh
# Slurm: after a job, workers that it left behind are ended and the driver is given the time to release their memory. In
# slurm.conf:
#   Epilog=/etc/slurm/headroom-epilog.sh
# By default headroom ends only workers whose parent is gone; other users' jobs on a shared node stay.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
case ${SLURM_JOB_GPUS:-} in '') exit 0 ;; esac
headroom reclaim --up-to wait-kfd --apply >/dev/null 2>&1
exit 0 # What is left is the next prolog's to judge: an epilog that fails drains the node.
