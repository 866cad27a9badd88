# shellcheck shell=bash disable=SC2154,SC2034  # mc_* are the script's own
# The file "cluster": what start wrote down for the other commands. A line is
# KEY=VALUE; it is read, and never run.

mc_id='' mc_boot='' mc_starter=''

write_state() {
    # The file is there as a whole or not at all.
    local key
    (
        umask 077
        for key in mc_id mc_boot mc_nodes mc_port mc_proctrack mc_cgroup mc_build mc_starter; do
            [ -z "${!key}" ] || printf '%s=%s\n' "$key" "${!key}"
        done >"$mc_dir/cluster.new"
    )
    mv -fT -- "$mc_dir/cluster.new" "$mc_dir/cluster"
}

boot_id() { cat /proc/sys/kernel/random/boot_id; }

good_build() {
    # good_build PATH: as in PATH and in configuration files
    case $1 in
    *[[:cntrl:]:\"]*) return 1 ;;
    /*) return 0 ;;
    *) return 1 ;;
    esac
}

good_number() {
    # good_number VALUE MIN MAX
    case $1 in '' | 0?* | *[!0123456789]* | ??????????*) return 1 ;; esac
    [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
}

good_value() {
    # good_value KEY VALUE: whether start could have written that
    case $1 in
    mc_id) [ ${#2} -eq 32 ] && [ -z "${2//[0123456789abcdef]/}" ] ;;
    mc_boot) [ ${#2} -eq 36 ] && [ -z "${2//[0123456789abcdef-]/}" ] ;;
    mc_nodes) good_number "$2" 1 "$MC_NODES_MAX" ;;
    mc_port) good_number "$2" "$MC_PORT_FIRST" $((MC_PORT_FIRST + MC_PORT_BLOCK * MC_PORT_BLOCKS)) ;;
    mc_proctrack) [ "$2" = linuxproc ] || [ "$2" = cgroup ] ;;
    mc_cgroup) [ "$2" = none ] || [ "$2" = v1 ] || [ "$2" = v2 ] ;;
    mc_build) good_build "$2" ;;
    # a process id and its start time
    mc_starter) [[ $2 =~ ^[0123456789]{1,10}\ [0123456789]{1,20}$ ]] ;;
    *) return 1 ;;
    esac
}

has_state() { [ -e "$mc_dir/cluster" ] || [ -L "$mc_dir/cluster" ]; }

read_state() {
    # Reads mc_dir's file; ends with the line that is wrong.
    local file=$mc_dir/cluster line key value kind seen=' ' n=0
    # no link, no FIFO to wait at, nothing of anybody else's
    kind=$(stat -c '%u %F' -- "$file") || mc_die "$file: cannot read it"
    [ "$kind" = "$EUID regular file" ] || mc_die "$file: not a file of yours ($kind)"
    mc_starter='' mc_boot=''
    while IFS= read -r line || [ -n "$line" ]; do
        n=$((n + 1))
        key=${line%%=*} value=${line#*=}
        case $seen in *" $key "*) mc_die "$file:$n: $key stands there twice" ;; esac
        [ "$line" != "$key" ] && [ ${#line} -lt 4200 ] && good_value "$key" "$value" ||
            mc_die "$file:$n: not a line of minicluster's"
        printf -v "$key" %s "$value"
        seen+="$key "
    done <"$file"
    for key in mc_id mc_nodes mc_port mc_proctrack mc_cgroup mc_build; do
        case $seen in *" $key "*) ;; *) mc_die "$file: $key is missing" ;; esac
    done
}
