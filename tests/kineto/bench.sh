#!/bin/bash
# bench.sh - how fast traces of PyTorch's profiler are read, as a ratio to a bare
# pass of the JSON scanner: a trace made by make_trace.py, and a real one if
# there is one.
here=${top_srcdir:-.}/tests/kineto
bench=${top_builddir:-.}/tests/kineto/bench_kineto
real=${JOBPROF_SHARED:-${top_srcdir:-.}/../shared}/samples/real/kineto/df_index_resolver.json.gz
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python3 "$here/make_trace.py" 2.4 "$work" 2 steps=10000 only=0 || exit 1
"$bench" "$work/trace_0.json" || exit 1
[ ! -f "$real" ] || "$bench" "$real"
