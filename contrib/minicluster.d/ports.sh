# shellcheck shell=bash disable=SC2154,SC2034  # mc_* are the script's own
# Choosing a block of free TCP ports, kept from other starts by a claim file.

# Below the usual range of ephemeral ports (32768..) and away from 6817-6819.
MC_PORT_FIRST=20000
MC_PORT_BLOCK=100
MC_PORT_BLOCKS=120

mc_claims=''
find_claims() {
    # Sets mc_claims: the caller's folder of claims, one for all values of TMPDIR, so
    # that all his starts agree. Where another has made the one in /tmp, TMPDIR's.
    local name=jobprof-mc-ports.$EUID
    # own_make ends the subshell where the folder is not ours
    if [ -z "${TMPDIR:-}" ] || (own_make "/tmp/$name") 2>/dev/null; then
        own_make "/tmp/$name"
    else
        own_make "$TMPDIR/$name"
    fi
    mc_claims=$own_real
}

ports_in_use() {
    # Ports of all local sockets, one a line.
    local files=(/proc/net/tcp)
    [ ! -r /proc/net/tcp6 ] || files+=(/proc/net/tcp6)
    # shellcheck disable=SC2013 # a word a line
    for hex in $(awk 'FNR > 1 { sub(/.*:/, "", $2); print $2 }' "${files[@]}" | sort -u); do
        echo $((16#$hex))
    done
}

claim_block() {
    # claim_block BASE: take BASE for mc_dir unless a living cluster has it. A claim is
    # a link to the state folder: made at once or not at all, and never opened.
    local claim owner
    # whoever cleans up /tmp may have removed an old folder
    [ -d "$mc_claims" ] || find_claims
    claim=$mc_claims/$1
    ! ln -sT -- "$mc_dir" "$claim" 2>/dev/null || return 0
    owner=$(readlink -- "$claim") || return 1
    [ ! -d "$owner" ] || return 1
    # left by a cluster whose folder is gone
    rm -f -- "$claim"
    ln -sT -- "$mc_dir" "$claim" 2>/dev/null
}

choose_ports() {
    # Sets mc_port: slurmctld's; node K has mc_port + K.
    local used try base port start=$((($$ + UID * 7) % MC_PORT_BLOCKS))
    find_claims
    used=" $(ports_in_use | tr '\n' ' ')"
    for ((try = 0; try < MC_PORT_BLOCKS; try++)); do
        base=$((MC_PORT_FIRST + (start + try) % MC_PORT_BLOCKS * MC_PORT_BLOCK))
        for ((port = base; port <= base + mc_nodes; port++)); do
            case $used in *" $port "*) continue 2 ;; esac
        done
        if claim_block "$base"; then
            mc_port=$base
            return 0
        fi
    done
    mc_die "no free block of $MC_PORT_BLOCK ports from $MC_PORT_FIRST on"
}

release_ports() {
    # release_ports BASE: give back a claim of mc_dir's. The folder stays: once it is
    # gone, anybody can make another one or a link while a start of ours uses the name.
    local claim
    (find_claims) || return 0
    find_claims
    claim=$mc_claims/$1
    [ "$(readlink -- "$claim")" != "$mc_dir" ] || rm -f -- "$claim"
}
