# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after functions.sh: a Slurm cluster of one host, the one that runs the
# test.
#
# The cluster runs in namespaces of its own.  All its processes end with the
# first process in there, whatever happens, and no other host can reach it,
# because there is no network but a loopback.  All its files are in $dir.  It
# needs no root if users can create namespaces, and no installed service.

. "$abs_top_srcdir/tests/unpacked.sh"

# ---- The programs ----

# Debian's slurmd is slurmd-wlm; a link is made when it is installed.
link_program () {
  for name in "$1" "$1-wlm"; do
    if program=$(command -v "$name"); then
      ln -sf "$program" "$dir/bin/$1"
      return
    fi
  done
  skip "$1 is missing: \"./quickstart check\" fetches it"
}

requires_slurm () {
  requires_program setpriv unshare
  [ "$(uname -s)" = Linux ] || skip "Slurm's proctrack/linuxproc needs Linux"
  PATH=$PATH:/usr/sbin:/sbin
  for name in munged mungekey slurmctld slurmd slurmstepd sbatch scontrol \
              squeue; do
    link_program $name
  done
  for plugins in /usr/lib/*/slurm-wlm /usr/lib*/slurm \
                 "$unpacked"/usr/lib/*/slurm-wlm; do
    [ ! -e "$plugins/auth_munge.so" ] || break
  done
  [ -e "$plugins/auth_munge.so" ] || skip "no plugins of Slurm"
  LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$plugins
  requires slurmctld -V
  requires slurmd -V
  requires munged --version
}

# ---- The namespaces ----

# --propagation: it cannot be changed in a chroot.  Only /proc is mounted, and
# --mount-proc makes that mount private itself.  A user other than root keeps
# the capabilities that configuring the loopback needs.
unshare="unshare --propagation unchanged --mount-proc --pid --net --uts --fork
  --kill-child"
[ "$(id -u)" = 0 ] ||
  unshare="unshare --user --map-current-user --keep-caps ${unshare#unshare}"
# The cluster ends even if this script is killed by SIGKILL.
unshare="setpriv --pdeathsig KILL $unshare"

# glibc does not count 127.0.0.1 as a configured address, and Slurm asks for one
# (AI_ADDRCONFIG), so the loopback gets a second address.
loopback_up='
import fcntl, socket, struct
IFF_UP, SIOCSIFFLAGS, SIOCSIFADDR = 1, 0x8914, 0x8916
with socket.socket() as s:
    fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    fcntl.ioctl(s, SIOCSIFADDR, struct.pack(
        "16sHH4s8x", b"lo:1", socket.AF_INET, 0, bytes((127, 0, 0, 2))))
socket.sethostname("localhost")
'

# in_namespaces COMMAND...: sets $status.  When COMMAND exits, all processes
# that it started end too.
in_namespaces () {
  $unshare "$PYTHON" -c "$loopback_up" > "$dir/namespaces" 2>&1 ||
    skip "no namespaces with a loopback: $(tail -n 1 "$dir/namespaces")"
  # In the background, so that a signal ends the wait.
  $unshare "$@" &
  namespaces=$!
  at_exit end_namespaces
  status=0
  wait $namespaces || status=$?
}

# unshare blocks the signals that would end it, so its only child is killed: the
# first process in the namespaces, and with it all others.
end_namespaces () {
  child=/proc/$namespaces/task/$namespaces/children
  if [ -e $child ]; then
    kill -9 $(cat $child) $namespaces 2> /dev/null || :
    wait $namespaces 2> /dev/null || :
  fi
}

# ---- The cluster ----

# All timeouts are long: the machine may be busy.
write_slurm_conf () {
  user=$(id -un)
  cat > "$slurm/slurm.conf" << END
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
NodeName=localhost NodeAddr=127.0.0.1 CPUs=$1 RealMemory=16384 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
SlurmUser=$user
SlurmdUser=$user
PluginDir=$plugins
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$slurm/munge.sock,ttl=3600,cred_expire=3600
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/slurmd.log
MinJobAge=86400
MessageTimeout=100
TCPTimeout=100
BatchStartTimeout=3600
SlurmdTimeout=0
InactiveLimit=0
UnkillableStepTimeout=3600
END
  # From 23.11 on slurmd does not start without cgroups, unless configured to.
  case $(slurmd -V) in
    *\ 2[012].* | *\ 23.0*) ;;
    *) echo CgroupPlugin=disabled > "$slurm/cgroup.conf" ;;
  esac
}

# The installed Slurm may be a version that was never tried.
skip_if_ended () {
  kill -0 "$1" 2> /dev/null || skip "$2 does not start: $(tail -n 1 "$slurm/$2.log")"
}

has_node () {
  skip_if_ended $slurmctld slurmctld
  skip_if_ended $slurmd slurmd
  scontrol --oneliner show node localhost > "$dir/node" 2>&1 &&
    grep -q " State=IDLE" "$dir/node"
}

slurm_failed () {
  for log in "$slurm"/*.log; do
    echo "--- $log:"
    tail -n 20 "$log"
  done
  fail "$*"
}

# start_slurm CPUS: the cluster runs CPUS jobs at once, of one CPU each, however
# many this host has.
start_slurm () {
  [ $$ = 1 ] || fail "not in namespaces of its own"
  "$PYTHON" -c "$loopback_up"
  slurm=$dir/slurm
  mkdir "$slurm" "$slurm/state" "$slurm/spool"
  write_slurm_conf "$1"
  SLURM_CONF=$slurm/slurm.conf
  export SLURM_CONF
  mungekey --create --keyfile "$slurm/munge.key"
  # --force: a parent directory may be one that only its owner can enter.
  munged --force --foreground --key-file "$slurm/munge.key" \
    --socket "$slurm/munge.sock" --pid-file "$slurm/munge.pid" \
    --log-file "$slurm/munged.log" --seed-file "$slurm/munge.seed" \
    > "$slurm/munged-output.log" 2>&1 &
  becomes_true test -S "$slurm/munge.sock" || slurm_failed "no munged"
  slurmctld -D > "$slurm/slurmctld-output.log" 2>&1 &
  slurmctld=$!
  slurmd -D -d "$dir/bin/slurmstepd" > "$slurm/slurmd-output.log" 2>&1 &
  slurmd=$!
  becomes_true has_node || slurm_failed "the cluster does not start"
}
