#!/bin/sh
# Slurm: a node on whose GPUs jobs cannot run is drained, with the reason that headroom gives, and stays so until a person
# has looked. In slurm.conf:
#   HealthCheckProgram=/etc/slurm/headroom-health.sh
#   HealthCheckInterval=300
#   HealthCheckNodeState=ANY
set -u
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
node=${SLURMD_NODENAME:-$(hostname -s)}
line=$(timeout 60 headroom check --health)
[ $? -eq 1 ] || exit 0 # 2: it could not look, which is no reason to take a node away.
scontrol update "NodeName=$node" State=DRAIN "Reason=headroom: $(printf '%s' "$line" | tr -d "'\"" | cut -c 1-200)"
