#!/bin/bash
# cupti-layout.sh - compare our declarations of CUPTI and of CUDA's arguments
# with genuine headers, by the compiler. By hand; not part of `make check`,
# which has no CUDA.
#
# Usage: cupti-layout.sh INCLUDE_DIR...
# INCLUDE_DIR has cupti.h and cuda.h (of CUDA's toolkit: include, and before it
# extras/CUPTI/include where they are apart, with a colon between them). Exit
# status 1 where something differs, 2 where the probe does not compile.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
[ $# -gt 0 ] || { sed -n '6,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# OURS THEIRS, then the members: ours=theirs
layouts() {
    cat <<'TABLE'
cupti_callback CUpti_CallbackData site=callbackSite function=functionName params=functionParams result=functionReturnValue symbol=symbolName context=context context_id=contextUid scratch=correlationData correlation=correlationId
cu_plane CUDA_MEMCPY2D from_type=srcMemoryType to_type=dstMemoryType width=WidthInBytes height=Height
cu_cube CUDA_MEMCPY3D from_type=srcMemoryType to_type=dstMemoryType width=WidthInBytes height=Height depth=Depth
TABLE
}

# the same, where theirs may have more behind ours; SHAPE of our table of calls
shapes() {
    cat <<'TABLE'
SHAPE_COPY cu_copy bytes=ByteCount
SHAPE_ARRAY cu_array_copy bytes=ByteCount
SHAPE_PEER cu_peer_copy bytes=ByteCount
SHAPE_PLANE cu_plane_copy copy=pCopy
SHAPE_CUBE cu_cube_copy copy=pCopy
SHAPE_BATCH cu_batch_copy sizes=sizes n=count
SHAPE_ALLOC cu_alloc bytes=bytesize|size at=dptr|handle
SHAPE_PITCH cu_pitch_alloc at=dptr pitch=pPitch height=Height
SHAPE_FREE cu_free at=dptr|handle
TABLE
}

numbers() {
    cat <<'TABLE'
CUPTI_OK CUPTI_SUCCESS
CUPTI_TAKEN CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
CUPTI_DRIVER_API CUPTI_CB_DOMAIN_DRIVER_API
CUPTI_ENTER CUPTI_API_ENTER
CUPTI_EXIT CUPTI_API_EXIT
CU_OK CUDA_SUCCESS
CU_NOT_READY CUDA_ERROR_NOT_READY
CU_HOST CU_MEMORYTYPE_HOST
CU_DEVICE CU_MEMORYTYPE_DEVICE
TABLE
}

# NAME NUMBER SHAPE of each call of our table, by the compiler
calls() {
    cat >"$work/calls.c" <<'END'
#include <stdio.h>
#include "plugins/cuda/cuda_cupti.h"
#define ROW(name, id, what, shape) printf("%s %d %d\n", #name, id, (shape) & ~SHAPE_LATER);
int main(void) { CUDA_CALLS(ROW) return 0; }
END
    ${CC:-cc} -I"$top" -o "$work/calls" "$work/calls.c" && "$work/calls"
}
shape_number() { # shape_number SHAPE
    printf '#include "plugins/cuda/cuda_cupti.h"\nint main(void) { return %s; }\n' "$1" >"$work/n.c"
    ${CC:-cc} -I"$top" -o "$work/n" "$work/n.c" && { "$work/n"; echo $?; }
}

probe() { # probe DIR...: the program that compares
    local ours theirs members pair shape name id member known
    cat <<'END'
#include <cstddef>
#include <cstdio>
#include <cuda.h>
#include <cupti.h>
#include "plugins/cuda/cuda_cupti.h"
static int bad, n;
static void same(const char *what, size_t a, size_t b)
{
    n++;
    if (a != b) {
        printf("  %s: ours %zu, theirs %zu\n", what, a, b);
        bad = 1;
    }
}
int main(void) {
END
    while read -r ours theirs members; do
        echo "same(\"sizeof $ours\", sizeof(struct $ours), sizeof($theirs));"
        for pair in $members; do
            echo "same(\"$ours.${pair%=*}\", offsetof(struct $ours, ${pair%=*}), offsetof($theirs, ${pair#*=}));"
        done
    done < <(layouts)
    while read -r ours theirs; do
        echo "same(\"$ours\", (size_t) $ours, (size_t) $theirs);"
    done < <(numbers)
    while read -r name id shape; do
        # an older toolkit lacks the newest calls
        # shellcheck disable=SC2028 # C reads the escape
        grep -qhw "CUPTI_DRIVER_TRACE_CBID_$name" "${headers[@]}" || { echo "printf(\"  not in this release: $name\\n\");"; continue; }
        echo "same(\"number of $name\", $id, (size_t) CUPTI_DRIVER_TRACE_CBID_$name);"
        [ "${shape_of[$shape]-}" ] || continue
        read -r ours members <<<"${shape_of[$shape]}"
        for pair in $members; do
            # the name that this call has for it
            member=
            for known in $(tr '|' ' ' <<<"${pair#*=}"); do
                grep -h -B12 "^} ${name}_params;" "${metas[@]}" | tac |
                    sed '/typedef struct/q' | grep -qE "[ *]$known;" && member=$known
            done
            [ "$member" ] || { echo "#error $name has no ${pair#*=}"; continue; }
            echo "same(\"$name ${pair%=*}\", offsetof(struct $ours, ${pair%=*}), offsetof(${name}_params, $member));"
        done
    done <"$work/calls.txt"
    # shellcheck disable=SC2028 # C reads the escape
    echo 'printf("%s: %d comparisons\n", bad ? "DIFFERS" : "same", n); return bad; }'
}

declare -A shape_of
while read -r shape rest; do
    shape_of[$(shape_number "$shape")]=$rest
done < <(shapes)
calls >"$work/calls.txt" || exit 2
[ "$(wc -l <"$work/calls.txt")" -gt 50 ] || { echo "no table of calls" >&2; exit 2; }

status=0
for dirs; do
    includes=() headers=() metas=()
    IFS=: read -ra list <<<"$dirs"
    for dir in "${list[@]}"; do
        includes+=("-I$dir")
        [ ! -f "$dir/cupti_driver_cbid.h" ] || headers+=("$dir/cupti_driver_cbid.h")
        [ ! -f "$dir/generated_cuda_meta.h" ] || metas+=("$dir/generated_cuda_meta.h")
    done
    echo "$dirs"
    if [ ${#headers[@]} -eq 0 ] || [ ${#metas[@]} -eq 0 ]; then
        echo "  no headers of CUPTI" >&2
        status=2
        continue
    fi
    probe >"$work/probe.cc"
    if ${CXX:-c++} -std=gnu++17 -w -I"$top" "${includes[@]}" -o "$work/probe" "$work/probe.cc"; then
        "$work/probe" || { [ $status -ne 0 ] || status=1; }
    else
        status=2
    fi
done
exit $status
