# shellcheck shell=bash disable=SC2154  # mc_* come from the options
# Finding a cluster's processes, by marks that no process of it can lose, and ending them.
#
# Every process in a namespace of the cluster sees passwd.ID (and a node's
# processes nN/boot_id.ID) in its mountinfo, whatever it forks, execs or unsets.
# What runs outside such a namespace has JOBPROF_MC_ID=ID in its environment.

mc_parent=0
find_parent() {
    # find_parent PID: sets mc_parent; fails when PID is gone
    local key value
    while read -r key value; do
        if [ "$key" = PPid: ]; then
            mc_parent=$value
            return 0
        fi
    done 2>/dev/null <"/proc/$1/status"
    return 1
}

is_stranger() {
    # is_stranger PID: it lives, and is neither this script nor above or below it
    local pid=$1 up
    up=$pid
    while [ "$up" -gt 1 ]; do
        [ "$up" != $$ ] || return 1
        find_parent "$up" || return 1
        up=$mc_parent
    done
    up=$$
    while [ "$up" -gt 1 ]; do
        [ "$up" != "$pid" ] || return 1
        find_parent "$up" || break
        up=$mc_parent
    done
}

pids_with() {
    # pids_with FILE GREP-ARGUMENT...: strangers whose /proc/PID/FILE matches
    local file=$1 pid
    shift
    { grep -l "$@" /proc/[0-9]*/"$file" 2>/dev/null || :; } | cut -d/ -f3 |
        while read -r pid; do
            ! is_stranger "$pid" || echo "$pid"
        done
}

pids_of_node() {
    # pids_of_node NODE [NAME]: its processes, or those called NAME
    local pid
    for pid in $(pids_with mountinfo -F "/$1/boot_id.$mc_id"); do
        [ -z "${2:-}" ] || [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] || continue
        echo "$pid"
    done
}

pids_of_cluster() {
    local pid
    {
        pids_with mountinfo -F "/passwd.$mc_id"
        pids_with environ -Fz "JOBPROF_MC_ID=$mc_id"
        # client commands that a user's own shell started
        for pid in $(pids_with environ -Fzx "SLURM_CONF=$mc_dir/etc/slurm.conf"); do
            case $(cat "/proc/$pid/comm" 2>/dev/null) in
            srun | salloc | sbatch | sattach) echo "$pid" ;;
            esac
        done
    } | sort -un
}

kill_until_gone() {
    # kill_until_gone FUNCTION ARGUMENT...: SIGKILL what it lists until it lists nothing
    local pids tries
    # an empty mark would be everybody's
    [ ${#mc_id} -eq 32 ] || mc_die "$mc_dir/cluster: no usable id"
    for ((tries = 0; tries < 100; tries++)); do
        pids=$("$@")
        [ -n "$pids" ] || return 0
        # shellcheck disable=SC2086 # a list
        kill -KILL $pids 2>/dev/null || :
        sleep 0.05
    done
    return 1
}

daemon_pid() {
    # daemon_pid NAME: munged, ctld or nK; fails when it does not run
    local pid
    pid=$(cat "$mc_dir/pid/$1" 2>/dev/null) || return 1
    grep -qF "/passwd.$mc_id" "/proc/${pid:-0}/mountinfo" 2>/dev/null || return 1
    echo "$pid"
}

daemon_alive() { daemon_pid "$1" >/dev/null; }
