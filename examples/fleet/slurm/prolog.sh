#!/bin/sh
# Slurm: a job does not start on a node whose GPU memory somebody else still holds. In slurm.conf:
#   Prolog=/etc/slurm/headroom-prolog.sh
# What processes that have ended still hold is waited for; a node on which it does not come back is drained by Slurm,
# because a prolog that fails drains its node, and the job is queued again.
set -u
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
case ${SLURM_JOB_GPUS:-} in '') exit 0 ;; esac
headroom reclaim --up-to wait-kfd --apply >/dev/null 2>&1
headroom check --health
[ $? -ne 1 ]
