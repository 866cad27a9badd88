# lib.sh - a real Prometheus and a real node_exporter for tests/metrics/*.test.
# Sourced behind tests/agent/lib.sh, whose ok, is, skip and wait_for it uses.
# shellcheck shell=bash disable=SC2034,SC2154 # shared with the tests
for tool in prometheus promtool prometheus-node-exporter; do
    command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool (Debian: prometheus, prometheus-node-exporter)"; exit 0; }
done
daemons=()
stop_daemons() { [ ${#daemons[@]} = 0 ] || kill "${daemons[@]}" 2>/dev/null; daemons=(); }
free_port() {
    python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
get() { python3 - "$1" <<'PY'
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
PY
}
# answers URL: it does
answers() { get "$1" >/dev/null 2>&1; }
# start_daemon PATH COMMAND...: with PORT for a free port in its words; sets port
# when http://127.0.0.1:port/PATH answers. A port that was taken meanwhile: again.
start_daemon() {
    local path=$1 try
    shift
    for try in 1 2 3; do
        port=$(free_port)
        "${@//PORT/$port}" >"$work/daemon.$port" 2>&1 &
        daemons+=($!)
        wait_for 12 answers "http://127.0.0.1:$port/$path" && return 0
        sed 's/^/# /' "$work/daemon.$port" | tail -5
    done
    return 1
}
start_exporter() { # start_exporter FOLDER
    start_daemon metrics prometheus-node-exporter --collector.disable-defaults --collector.textfile \
        "--collector.textfile.directory=$1" --web.listen-address=127.0.0.1:PORT &&
        exporter=http://127.0.0.1:$port/metrics exporter_port=$port
}
# start_prometheus [TARGET]: scrapes it each second; without one only answers
# of what is in $work/tsdb
start_prometheus() {
    {
        echo 'global: { scrape_interval: 1s }'
        [ -z "${1-}" ] || printf 'scrape_configs:\n- job_name: jobprof\n  static_configs: [ { targets: [ "%s" ], labels: { cluster: c1 } } ]\n' "$1"
    } >"$work/prometheus.yml"
    start_daemon -/ready prometheus "--config.file=$work/prometheus.yml" "--storage.tsdb.path=$work/tsdb" \
        --storage.tsdb.retention.time=3650d --web.listen-address=127.0.0.1:PORT --log.level=warn &&
        prometheus=http://127.0.0.1:$port
}
# query EXPRESSION [TIME]: the values, a line each, sorted
query() {
    python3 - "$prometheus" "$@" <<'PY'
import json, sys, urllib.parse, urllib.request
url, args = sys.argv[1], {"query": sys.argv[2]}
if len(sys.argv) > 3:
    args["time"] = sys.argv[3]
d = json.load(urllib.request.urlopen(url + "/api/v1/query?" + urllib.parse.urlencode(args), timeout=30))
rows = d["data"]["result"]
if d["data"]["resultType"] == "scalar":
    rows = [{"metric": {}, "value": rows}]
for r in sorted(f"{'/'.join(v for k, v in sorted(r['metric'].items()) if k != '__name__')} {float(r['value'][1]):.4g}" for r in rows):
    print(r.strip())
PY
}
