# shellcheck shell=bash disable=SC2154,SC2034  # mc_* are the script's own
# Namespaces and daemons: starting a cluster, entering its nodes, ending it.

# Socket names end at 108 bytes: slurmstepd's take up to 45 beside the folder.
MC_DIR_MAX=60

# How long a start may take before it is called failed, in tenths of a second.
MC_START_MAX=300

MC_CGROUPS=/sys/fs/cgroup

# --- cgroups ---------------------------------------------------------------

choose_cgroup() {
    # Sets mc_cgroup: v1 where its freezer is mounted, else v2.
    mc_cgroup=none
    [ "$mc_proctrack" = cgroup ] || return 0
    [ "$UID" -eq 0 ] || mc_die "--proctrack cgroup needs root"
    if grep -q " $MC_CGROUPS/freezer .* - cgroup .*freezer" /proc/self/mountinfo; then
        mc_cgroup=v1
    elif grep -q " $MC_CGROUPS .* - cgroup2 " /proc/self/mountinfo; then
        mc_cgroup=v2
    else
        mc_die "--proctrack cgroup needs cgroup v1's freezer at $MC_CGROUPS/freezer or cgroup v2 at $MC_CGROUPS, which are not mounted"
    fi
}

cgroup_top() {
    # cgroup_top v1|v2: the hierarchy that has the cluster's folder
    case $1 in
    v1) echo "$MC_CGROUPS/freezer" ;;
    *) echo "$MC_CGROUPS" ;;
    esac
}

cgroup_dir() { printf '%s/jobprof-mc-%s' "$(cgroup_top "$mc_cgroup")" "$mc_id"; }

pass_controllers() {
    # pass_controllers DIR...: all that DIR has is there for its folders, too
    local dir word
    for dir; do
        # shellcheck disable=SC2013 # words of one line
        for word in $(cat "$dir/cgroup.controllers"); do
            echo "+$word" >"$dir/cgroup.subtree_control" || :
        done
    done 2>/dev/null
}

first_mine() {
    # The first of the process ids on stdin that is root's: a user's may have made its
    # own cgroup namespace.
    local pid
    while read -r pid; do
        ! is_mine "$pid" || { echo "$pid"; return 0; }
    done
}

enter_cgroup() {
    # enter_cgroup NODE: sets mc_enter, which runs a command with the node's cgroup as
    # the namespace's root. This process goes there.
    local dir pid word
    dir=$(cgroup_dir)/$1
    mc_enter=(unshare --cgroup)
    mkdir -p "$dir"
    if [ "$mc_cgroup" = v2 ]; then
        # a folder that passes controllers on takes no process, so a slurmd that
        # is started again goes to where its steps live, or clears up first
        find "$dir" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null || :
        pid=$(find "$dir" -name cgroup.procs -exec cat {} + 2>/dev/null | first_mine)
        if [ -n "$pid" ]; then
            mc_enter=(nsenter --cgroup="/proc/$pid/ns/cgroup")
            mkdir -p "$dir/slurmd"
            dir=$dir/slurmd
        else
            pass_controllers "$MC_CGROUPS" "$(cgroup_dir)"
            # shellcheck disable=SC2013 # words of one line
            for word in $(cat "$dir/cgroup.subtree_control"); do
                echo "-$word" >"$dir/cgroup.subtree_control"
            done
        fi
    fi
    echo "$BASHPID" >"$dir/cgroup.procs"
}

bind_cgroup() {
    # bind_cgroup v1|v2 DIR ID NODE: the node sees its own cgroup as the root
    case $1 in
    v1) mount --bind "$MC_CGROUPS/freezer/jobprof-mc-$3/$4" "$MC_CGROUPS/freezer" ;;
    v2)
        umount -l "$MC_CGROUPS"
        mount -t cgroup2 cgroup2 "$MC_CGROUPS"
        # slurmd takes its root from process 1, which is outside of it
        echo 0::/ >"$2/n/$4/cgroup"
        mount --bind "$2/n/$4/cgroup" /proc/1/cgroup
        # only a folder without processes can pass controllers on
        mkdir -p "$MC_CGROUPS/slurmd" "$MC_CGROUPS/system.slice"
        echo $$ >"$MC_CGROUPS/slurmd/cgroup.procs"
        pass_controllers "$MC_CGROUPS" "$MC_CGROUPS/system.slice" ;;
    esac
}

thaw_cgroups() {
    # In v1 a frozen process does not even die.
    local file
    while read -r file; do
        echo THAWED >"$file" 2>/dev/null || :
    done < <(find "$(cgroup_dir)" -name freezer.state 2>/dev/null)
}

remove_cgroups() {
    local tries
    for ((tries = 0; tries < 20; tries++)); do
        find "$(cgroup_dir)" -depth -type d -exec rmdir {} + 2>/dev/null || :
        [ -d "$(cgroup_dir)" ] || return 0
        sleep 0.05
    done
    mc_say "$(cgroup_dir): cannot remove it"
}

# --- inside the namespaces -------------------------------------------------

in_plain_chroot() {
    # Whether / is no mount point, as in a chroot whose folder is part of a file
    # system: there `unshare --mount` cannot make its mounts private.
    ! awk '$5 == "/" { found = 1 } END { exit !found }' /proc/self/mountinfo
}

private_chroot() {
    # private_chroot CMD...: within a new mount namespace of a plain chroot, CMD
    # with the same tree as root, which is a mount point, and private. Nothing may be
    # mounted before that: the outer / may be shared, and would show it to the host.
    # /proc is a mount, too, and can be private alone: all begins there.
    local at=/proc/fs self=$PWD
    mount --make-private /proc
    mount -t tmpfs jobprof-mc $at
    mkdir $at/root
    mount --rbind / $at/root
    mount --make-rprivate $at/root
    umount $at/root$at
    exec chroot $at/root env --chdir="$self" "$@"
}

bind_common() {
    # bind_common DIR ID: users, hosts and configuration, for nodes and login
    mount --bind "$1/etc/passwd.$2" /etc/passwd
    mount --bind "$1/etc/group.$2" /etc/group
    [ ! -f /etc/hosts ] || mount --bind "$1/etc/hosts.$2" /etc/hosts
    # a command without SLURM_CONF must not find a system's Slurm
    [ ! -d /etc/slurm ] || mount --bind "$1/etc" /etc/slurm
    if [ -c "$1/fuse" ] && [ -c /dev/fuse ]; then
        mount --bind "$1/fuse" /dev/fuse
    fi
}

inside() {
    # inside ROLE DIR ID none|v1|v2 CMD...: become ctld or nK, then CMD
    local role=$1 dir=$2 id=$3 cgroup=$4
    shift 4
    hostname "$role"
    bind_common "$dir" "$id"
    case $role in
    n[0-9]*)
        mount --bind "$dir/n/$role/boot_id.$id" /proc/sys/kernel/random/boot_id
        bind_cgroup "$cgroup" "$dir" "$id" "$role" ;;
    esac
    exec "$@"
}

inside_login() {
    # inside_login DIR ID USER CMD...: CMD as on a login node, as USER ('' = stay)
    local dir=$1 id=$2 user=$3 uid home
    shift 3
    bind_common "$dir" "$id"
    case $user in '' | root) exec "$@" ;; esac
    uid=$(id -u -- "$user") || mc_die "no user '$user'"
    home=$(getent passwd "$user" | cut -d: -f6)
    export HOME="$home" USER="$user" LOGNAME="$user"
    unset XDG_RUNTIME_DIR
    set -- setpriv --reuid "$uid" --regid "$(id -g -- "$user")" --init-groups -- "$@"
    # what root uses need not be open to others
    setpriv --reuid "$uid" --regid "$uid" --clear-groups test -w "${TMPDIR:-/tmp}" ||
        unset TMPDIR
    if ! setpriv --reuid "$uid" --regid "$uid" --clear-groups test -x .; then
        mc_say "$user cannot enter $PWD: running in $home"
        cd "$home" || exit
    fi
    # A program in root's terminal can type into it where the kernel still allows that.
    if (: </dev/tty) 2>/dev/null && [ "$(cat /proc/sys/dev/tty/legacy_tiocsti 2>/dev/null)" != 0 ]; then
        without_terminal "$@"
    fi
    exec "$@"
}

without_terminal() {
    # without_terminal CMD...: CMD in a session of its own, with our signals; exits
    local signal child status=0
    # what a shell starts with & ignores SIGINT otherwise
    env --default-signal=INT,QUIT setsid "$@" <&0 &
    child=$!
    for signal in HUP INT QUIT TERM; do
        # shellcheck disable=SC2064 # the child of now
        trap "kill -$signal -- -$child 2>/dev/null || :" "$signal"
    done
    while [ -n "$(jobs -rp)" ]; do wait "$child" || :; done
    wait "$child" || status=$?
    exit "$status"
}

enter_node() {
    # enter_node nK CMD...: CMD beside its slurmd, in the same namespaces and below the
    # same root, which is not the host's where all this runs in a chroot
    local node=$1 pid kind kinds='mnt uts' fd flags=()
    shift
    [ "$mc_proctrack" != cgroup ] || kinds+=' cgroup'
    [ "$UID" -eq 0 ] || kinds+=' user'
    pid=$(daemon_pid "$node") || mc_die "$node: no slurmd runs"
    # These are opened before the last look at whose pid it is: a user's process that
    # has got it since would take root into its own namespaces, and files.
    exec {fd}<"/proc/$pid/root/." || exit
    flags+=("--root=/proc/self/fd/$fd")
    for kind in $kinds; do
        exec {fd}<"/proc/$pid/ns/$kind" || exit
        [ "$kind" != mnt ] || kind=mount
        flags+=("--$kind=/proc/self/fd/$fd")
    done
    [ "$(daemon_pid "$node")" = "$pid" ] || mc_die "$node: its slurmd has just ended"
    [ "$UID" -eq 0 ] || flags+=(--preserve-credentials)
    exec env SLURM_CONF="$mc_dir/etc/slurm.conf" nsenter "${flags[@]}" --wd="$PWD" "$@"
}

run_inside() {
    # run_inside OWN CMD...: CMD with the environment of a user of the cluster
    local own=$1 key vars=()
    shift
    vars=(SLURM_CONF="$mc_dir/etc/slurm.conf" JOBPROF_MINICLUSTER="$mc_dir"
        JOBPROF_MC_ID="$mc_id" PATH="$mc_build/orchestrator:$PATH")
    if [ "$own" = yes ]; then
        # of a job around us nothing may reach the new cluster
        for key in "${!SLURM_@}" "${!SLURMD_@}"; do
            vars=(-u "$key" "${vars[@]}")
        done
    fi
    if [ "$UID" -eq 0 ]; then
        set_unshare
        set -- "${mc_unshare[@]}" "$MC_SELF" __login "$mc_dir" "$mc_id" "$mc_user" "$@"
    fi
    umask "$mc_umask"
    env "${vars[@]}" "$@"
}

# --- starting --------------------------------------------------------------

set_unshare() {
    # Sets mc_unshare: the command that makes a daemon's namespaces.
    if [ "$UID" -eq 0 ] && in_plain_chroot; then
        mc_unshare=(unshare --mount --propagation unchanged --uts "$MC_SELF" __chroot)
    elif [ "$UID" -eq 0 ]; then
        mc_unshare=(unshare --mount --uts)
    else
        mc_unshare=(unshare --user --map-current-user --keep-caps --mount --uts)
    fi
}

check_host() {
    local why
    mc_need munged munge
    mc_need slurmctld slurmctld
    mc_need slurmd slurmd
    mc_need srun slurm-client
    mc_need scontrol slurm-client
    mc_need unshare util-linux
    mc_need setpriv util-linux
    mc_need hostname hostname
    set_unshare
    if [ "$UID" -ne 0 ] && in_plain_chroot; then
        mc_die "in a chroot, Linux gives user namespaces to nobody: run as root"
    fi
    why=$("${mc_unshare[@]}" true 2>&1) ||
        mc_die "$why: run as root, or allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)"
    choose_cgroup
}

clear_stale() {
    # Ends, in a process of its own, what an earlier start has left in mc_dir.
    (
        ! is_up || mc_die "$mc_dir: a cluster runs there already"
        # shellcheck disable=SC2086 # a pid and its start time
        [ -z "$mc_starter" ] || ! is_started_at $mc_starter ||
            mc_die "$mc_dir: process ${mc_starter% *} is starting a cluster there"
        stop_cluster
    ) || exit
}

make_dir() {
    # The empty state folder, ours with all above it; a stale one of ours is cleared.
    [ ${#mc_dir} -le $MC_DIR_MAX ] ||
        mc_die "$mc_dir: longer than $MC_DIR_MAX bytes (socket names end at 108): use a shorter --dir or TMPDIR"
    case $mc_dir in
    *[!A-Za-z0-9/._+-]*) mc_die "$mc_dir: letters, digits and / . _ + - only" ;;
    esac
    umask 022
    own_make "$mc_dir"
    mc_dir=$own_real
    [ ${#mc_dir} -le $MC_DIR_MAX ] || mc_die "$mc_dir: longer than $MC_DIR_MAX bytes"
    if has_state; then
        clear_stale
        own_make "$mc_dir"
    fi
    [ -z "$(ls -A -- "$mc_dir")" ] || mc_die "$mc_dir: not empty"
    mkdir "$mc_dir"/{etc,ctld,log,n,pid,home}
    if [ "$UID" -eq 0 ] && ! setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$mc_dir"; then
        mc_say "other users cannot enter $mc_dir: --user will not work"
    fi
}

make_fuse() {
    # A /dev/fuse that users may open; the host's is often root's alone.
    [ "$UID" -eq 0 ] && [ -c /dev/fuse ] || return 0
    mknod -m 0666 "$mc_dir/fuse" c 10 229 2>/dev/null || return 0
    # on a file system mounted nodev it cannot be opened
    (: <>"$mc_dir/fuse") 2>/dev/null || rm -f "$mc_dir/fuse"
}

spawn() {
    # spawn NAME ROLE CMD...: CMD in new namespaces; its pid goes to pid/NAME
    local name=$1 role=$2 key
    set_unshare
    mc_enter=()
    local vars=(PATH="$PATH" LANG=C.UTF-8 JOBPROF_MC_ID="$mc_id")
    shift 2
    for key in ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS; do
        [ -z "${!key:-}" ] || vars+=("$key=${!key}")
    done
    (
        cd "$mc_dir/log" || exit
        exec </dev/null >"$mc_dir/log/$name.out" 2>&1
        (
            if [ "$mc_cgroup" != none ] && [ "$role" != ctld ]; then
                enter_cgroup "$role"
            fi
            exec env -i "${vars[@]}" setsid "${mc_enter[@]}" "${mc_unshare[@]}" "$MC_SELF" \
                __inside "$role" "$mc_dir" "$mc_id" "$mc_cgroup" "$@"
        ) &
        record_pid "$name" $!
    )
}

start_munged() {
    # who opens it in a moment when he may can be everybody on the nodes
    (umask 0277 && head -c 1024 /dev/urandom >"$mc_dir/munge.key")
    spawn munged ctld munged --foreground --force --num-threads=2 \
        --key-file="$mc_dir/munge.key" --socket="$mc_dir/munge.sock" \
        --pid-file="$mc_dir/munged.munge-pid" --seed-file="$mc_dir/munge.seed"
    wait_for munged "munged made no socket" test -S "$mc_dir/munge.sock"
}

start_slurmctld() {
    spawn ctld ctld slurmctld -D -f "$mc_dir/etc/slurm.conf"
    wait_for ctld "slurmctld does not listen on port $mc_port" listens "$mc_port"
}

check_slurm() {
    # Nodes that share a munged see each other's credentials: only a Slurm that was
    # built for this takes them twice. All others come up, and fail with each step.
    local config
    config=$(SLURM_CONF=$mc_dir/etc/slurm.conf scontrol show config 2>/dev/null) || return 0
    case $config in
    *MULTIPLE_SLURMD*) ;;
    *SLURM_VERSION*) mc_die "$(command -v slurmctld): this Slurm was built without --enable-multiple-slurmd, so its nodes cannot share a host: build it with that option, or put Debian's first in PATH" ;;
    esac
}

start_slurmd() {
    # start_slurmd nK
    spawn "$1" "$1" slurmd -D -f "$mc_dir/etc/slurm.conf"
}

listens() { ports_in_use | grep -qx "$1"; }

is_idle() {
    # is_idle nK: its slurmd listens, and slurmctld gives it jobs
    listens $((mc_port + ${1#n})) || return 1
    case $(SLURM_CONF=$mc_dir/etc/slurm.conf sinfo -h -n "$1" -o '%t' 2>/dev/null) in
    idle | alloc | mix) return 0 ;;
    esac
    return 1
}

wait_idle() {
    # wait_idle nK...
    local node
    for node in "$@"; do
        wait_for "$node" "$node does not come up" is_idle "$node"
    done
}

wait_for() {
    # wait_for DAEMON MESSAGE TEST...: until TEST holds; fail when DAEMON ends
    local name=$1 message=$2 tries
    shift 2
    for ((tries = 0; tries < MC_START_MAX; tries++)); do
        ! "$@" || return 0
        # the mark comes some moments after the process
        [ "$tries" -lt 20 ] || daemon_alive "$name" || start_failed "$name" "$name ended"
        sleep 0.1
    done
    start_failed "$name" "$message"
}

start_failed() {
    # start_failed DAEMON MESSAGE: show the logs' ends, clean up, exit
    local log
    mc_say "$2; the ends of its logs:"
    for log in "$1" ctld; do
        log=$mc_dir/log/$log.out
        [ ! -s "$log" ] || tail -n 8 "$log" >&2
    done
    exit 1
}

start_cluster() {
    # From the options to a cluster whose nodes are all idle. Leaves traps set:
    # our end, also by a signal, is the cluster's end until the caller lifts them.
    local k nodes=()
    check_host
    if [ -z "$mc_build" ]; then
        mc_build=$MC_TOP
        [ ! -d "$MC_TOP/build" ] || mc_build=$MC_TOP/build
    fi
    check_build
    make_dir
    trap undo_start EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    mc_id=$(tr -d - </proc/sys/kernel/random/uuid)
    choose_ports
    mc_boot=$(boot_id)
    find_start $$
    mc_starter="$$ $mc_start_time"
    write_state
    write_users
    write_nodes
    write_slurm_conf
    write_plugin_conf
    make_fuse
    start_munged
    start_slurmctld
    check_slurm
    for ((k = 1; k <= mc_nodes; k++)); do
        nodes+=("n$k")
        start_slurmd "n$k"
    done
    wait_idle "${nodes[@]}"
    mc_starter=''
    write_state
}

start_guard() {
    # Ends the cluster of a "run" that was killed before it could do so. No child of
    # ours: stop_cluster spares those.
    find_start $$
    (
        cd /
        JOBPROF_MC_ID=$mc_id setsid "$MC_SELF" __guard $$ "$mc_start_time" "$mc_dir" \
            </dev/null >/dev/null 2>&1 &
        record_pid guard $!
    )
}

guard() {
    # guard PID TIME DIR: ends DIR's cluster when the process has ended
    while is_started_at "$1" "$2"; do
        sleep 0.5
    done
    exec "$MC_SELF" stop --dir "$3"
}

# --- ending ----------------------------------------------------------------

undo_start() {
    # Ends what start_cluster has begun, in the folder that make_dir found empty.
    if has_state; then
        stop_cluster
    else
        rm -rf --one-file-system -- "$mc_dir"
    fi
}

check_keep_logs() {
    # What root copies there must not go through others' links.
    [ -n "$mc_keep_logs" ] || return 0
    (own_make "$mc_keep_logs") || exit
}

end_cluster() {
    # What is left of mc_dir's cluster, if there is one, with what start wrote down.
    has_state || return 0
    read_state
    stop_cluster
}

stop_cluster() {
    # Ends what mc_dir's cluster started, then removes the folder.
    has_state || return 0
    thaw_cgroups
    kill_where is_of_cluster || mc_say "some processes do not die: $(pids_where is_of_cluster | tr '\n' ' ')"
    remove_cgroups
    if [ -n "$mc_keep_logs" ]; then
        own_make "$mc_keep_logs"
        cp -r -- "$mc_dir/log/." "$own_real/"
        cp -- "$mc_dir"/etc/*.conf "$mc_dir/jobprof.conf" "$own_real/" 2>/dev/null || :
    fi
    release_ports "$mc_port"
    rm -rf --one-file-system -- "$mc_dir"
    [ ! "${mc_dir%/*}" -ef "$(mc_base)" ] || rmdir -- "${mc_dir%/*}" 2>/dev/null || :
}
