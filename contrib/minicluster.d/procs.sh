# shellcheck shell=bash disable=SC2154  # mc_* come from the options
# Finding a cluster's processes, by marks that no process of it can lose and no other
# can get, and ending them.
#
# Every process in a namespace of the cluster has .../etc/passwd.ID mounted at
# /etc/passwd (and a node's processes .../n/nN/boot_id.ID at the kernel's boot_id),
# whatever it forks, execs or unsets. To mount anything there takes root, or a user
# namespace of one's own, in which no process of others is. All users know the ID, and
# can have it in their environment, or in the name of a mount point: that counts for
# nothing. Processes that this script has started are also known by pid and start time.
# An ordinary user's commands run in no namespace: for these, and only among his own
# processes, JOBPROF_MC_ID=ID in the environment is a mark, too.

MC_BOOT_ID=/proc/sys/kernel/random/boot_id

# --- one process: without a fork, so that what is found is still true at the kill ------

mc_text=''
read_proc() {
    # read_proc PID FILE: sets mc_text to /proc/PID/FILE
    mc_text=''
    # fails at the file's end, for want of a NUL
    { IFS= read -r -d '' mc_text <"/proc/$1/$2"; } 2>/dev/null || :
    [ -n "$mc_text" ]
}

mc_start_time=''
find_start() {
    # find_start PID: sets mc_start_time, in ticks since the boot; fails when it is gone
    local fields
    mc_start_time=''
    read_proc "$1" stat || return 1
    # the name before may have spaces and parentheses
    read -r -a fields <<<"${mc_text##*) }"
    case ${fields[0]} in Z | X) return 1 ;; esac
    mc_start_time=${fields[19]}
}

is_started_at() {
    # is_started_at PID TIME: the process that had this pid at that time lives
    find_start "$1" && [ "$mc_start_time" = "$2" ]
}

mc_parent=0 mc_uids=''
find_status() {
    # find_status PID: sets mc_parent, and mc_uids to its four uids; fails when PID is gone
    local key value
    mc_parent='' mc_uids=''
    while read -r key value; do
        case $key in
        PPid:) mc_parent=$value ;;
        Uid:)
            mc_uids=${value//$'\t'/ }
            return 0 ;;
        esac
    done 2>/dev/null <"/proc/$1/status"
    return 1
}

is_mine() {
    # is_mine PID: it has the caller's rights, and no other in reserve
    find_status "$1" && [ "$mc_uids" = "$EUID $EUID $EUID $EUID" ]
}

is_stranger() {
    # is_stranger PID: it lives, and is neither this script nor above or below it
    local pid=$1 up
    up=$pid
    while [ "$up" -gt 1 ]; do
        [ "$up" != $$ ] || return 1
        find_status "$up" || return 1
        up=$mc_parent
    done
    up=$$
    while [ "$up" -gt 1 ]; do
        [ "$up" != "$pid" ] || return 1
        find_status "$up" || break
        up=$mc_parent
    done
}

has_mount() {
    # has_mount PID FILE.ID POINT: a file with that end of its name is mounted at POINT.
    # A line: 36 35 98:0 /what/is/mounted /where options - ...
    local line
    line=$'[0-9]+ [0-9]+ [0-9]+:[0-9]+ [^ \n]*'${2//./\\.}"(//deleted)? $3 "
    read_proc "$1" mountinfo && [[ $'\n'$mc_text =~ $'\n'$line ]]
}

is_in_cluster() { has_mount "$1" "/etc/passwd.$mc_id" /etc/passwd; }
is_on_node() { has_mount "$1" "/n/$2/boot_id.$mc_id" $MC_BOOT_ID; }

has_entry() {
    # has_entry PID NAME=VALUE: exactly that is in its environment
    local entries=() entry
    { mapfile -d '' entries <"/proc/$1/environ"; } 2>/dev/null || return 1
    for entry in "${entries[@]}"; do
        [ "$entry" != "$2" ] || return 0
    done
    return 1
}

is_client() {
    # is_client PID: srun or another client, which a shell of the caller's has started
    local program
    has_entry "$1" "SLURM_CONF=$mc_dir/etc/slurm.conf" || return 1
    for program in srun salloc sbatch sattach; do
        [ ! "/proc/$1/exe" -ef "$(command -v $program)" ] || return 0
    done
    return 1
}

declare -A mc_recorded=()
read_records() {
    # Sets mc_recorded: start times by pid, of the processes that were started here.
    local file pid at
    mc_recorded=()
    [ "$mc_boot" = "$(boot_id)" ] || return 0
    for file in "$mc_dir"/pid/*; do
        [ -f "$file" ] && read -r pid at <"$file" || continue
        [ -z "$pid$at" ] || mc_recorded[$pid]=$at
    done
}

is_of_cluster() {
    # is_of_cluster PID
    ! is_in_cluster "$1" || return 0
    [ -z "${mc_recorded[$1]:-}" ] || ! is_started_at "$1" "${mc_recorded[$1]}" || return 0
    is_mine "$1" || return 1
    # root's setuid programs have the environment of whoever calls them
    [ "$EUID" -eq 0 ] || ! has_entry "$1" "JOBPROF_MC_ID=$mc_id" || return 0
    is_client "$1"
}

# --- all of them ---------------------------------------------------------------------

pids_where() {
    # pids_where TEST [ARGUMENT]: strangers for which TEST PID [ARGUMENT] holds. Those
    # that have the ID or the folder's name anywhere are looked at.
    local pid
    read_records
    {
        grep -lsF -e "$mc_id" -e "SLURM_CONF=$mc_dir/" /proc/[0-9]*/{mountinfo,environ} |
            cut -d/ -f3
        [ ${#mc_recorded[@]} -eq 0 ] || printf '%s\n' "${!mc_recorded[@]}"
    } | sort -un | while read -r pid; do
        ! is_stranger "$pid" || ! "$1" "$pid" "${@:2}" || echo "$pid"
    done
}

pids_of_node() { pids_where is_on_node "$1"; }

stepds_of_node() {
    # stepds_of_node NODE: a user's program may have that name, but not that uid
    local pid
    for pid in $(pids_of_node "$1"); do
        find_status "$pid" && [ "${mc_uids%% *}" = "$EUID" ] || continue
        ! read_proc "$pid" comm || [ "$mc_text" != $'slurmstepd\n' ] || echo "$pid"
    done
}

kill_where() {
    # kill_where TEST [ARGUMENT]: SIGKILL what pids_where lists until that is nothing.
    # bash has no pidfd: the last look is right before the signal.
    local pid pids tries
    for ((tries = 0; tries < 100; tries++)); do
        pids=$(pids_where "$@")
        [ -n "$pids" ] || return 0
        read_records
        for pid in $pids; do
            ! "$1" "$pid" "${@:2}" || kill -KILL "$pid" 2>/dev/null || :
        done
        sleep 0.05
    done
    return 1
}

record_pid() {
    # record_pid NAME PID: PID is a child of this shell, and so cannot be another's yet
    find_start "$2" || mc_start_time=0
    echo "$2 $mc_start_time" >"$mc_dir/pid/$1"
}

daemon_pid() {
    # daemon_pid NAME: munged, ctld or nK; fails when it does not run. A user's process
    # in the cluster that has got the pid of a dead daemon is not taken for it.
    local pid at
    [ -f "$mc_dir/pid/$1" ] && read -r pid at <"$mc_dir/pid/$1" || return 1
    is_in_cluster "$pid" && is_started_at "$pid" "$at" || return 1
    echo "$pid"
}

daemon_alive() { daemon_pid "$1" >/dev/null; }
