# shellcheck shell=bash disable=SC2154,SC2034  # mc_* are the script's own
# Choosing a block of free TCP ports, kept from other starts by a claim file.

# Below the usual range of ephemeral ports (32768..) and away from 6817-6819.
MC_PORT_FIRST=20000
MC_PORT_BLOCK=100
MC_PORT_BLOCKS=120

# One folder per user for all values of TMPDIR, so that all his starts agree;
# different users begin their search at different blocks.
mc_claims() { printf '/tmp/jobprof-mc-ports.%s' "$UID"; }

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
    # claim_block BASE: take BASE for mc_dir unless a living cluster has it
    local claim owner
    claim=$(mc_claims)/$1
    if (set -C; printf '%s\n' "$mc_dir" >"$claim") 2>/dev/null; then
        return 0
    fi
    owner=$(cat "$claim" 2>/dev/null) || return 1
    [ -n "$owner" ] && [ ! -d "$owner" ] || return 1
    # left by a cluster whose folder is gone
    rm -f -- "$claim"
    (set -C; printf '%s\n' "$mc_dir" >"$claim") 2>/dev/null
}

choose_ports() {
    # Sets mc_port: slurmctld's; node K has mc_port + K.
    local used try base port start=$((($$ + UID * 7) % MC_PORT_BLOCKS))
    mkdir -p "$(mc_claims)"
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
    # release_ports BASE: give back a claim of mc_dir's
    local claim
    claim=$(mc_claims)/$1
    [ "$(cat "$claim" 2>/dev/null)" != "$mc_dir" ] || rm -f -- "$claim"
    rmdir -- "$(mc_claims)" 2>/dev/null || :
}
