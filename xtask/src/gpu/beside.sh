#!/usr/bin/env bash
# The emulator beside a GPU: the same kernels on both, by bits. Made by `cargo xtask gpu --beside`.
#
#     beside.sh OUT [PHASE...]      phases: matrix wgmma truth gemm triton cub exports; all of them if none is named
#
# OUT has a log for each phase; its last lines are printed. Triton, `nvcc` with CUB's headers and `nm` are those of the machine. The
# exit status is 1 if anything differs.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: beside.sh OUT [PHASE...]}
shift
mkdir -p "$out" && out=$(cd "$out" && pwd)
phases=${*:-matrix wgmma truth gemm triton cub exports}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if command -v xz >/dev/null; then
    tar -xJf "$here/bin.tar.xz" -C "$work"
else
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$here/bin.tar.xz" "$work"
fi
bin=$work/bin tool=$work/bin/cuda-launch

matrix() {
    "$bin/matrix_device" --ignored --nocapture
}

wgmma() {
    "$bin/wgmma_device" --ignored --nocapture
}

truth() {
    CUDA_LAUNCH_DRIVER=system "$bin/driver_truth" --nocapture
}

gemm() {
    CUDA_LAUNCH_DRIVER=system "$bin/hopper_gemm" --nocapture
}

triton() {
    PYTHONPATH=$here/beside python3 "$here/beside/triton_both.py" "$tool" "$work/triton"
}

cub() {
    PATH=$PATH:/usr/local/cuda/bin python3 "$here/beside/cub_both.py" "$tool" "$work/cub"
}

# What the driver's library exports, beside the list of what the emulator's does. These are in no public header: for debuggers, for
# EGL, and undocumented.
exports() {
    local library unlisted
    library=$(ldconfig -p | sed -n 's/.* => \(.*libcuda\.so\.1\)$/\1/p' | head -n 1)
    nm -D --defined-only "$library" | awk '$2 == "T" { sub("@.*", "", $3); print $3 }' | sort -u >"$out/exports-system.txt"
    awk '$3 <= 13000 { print $1 }' "$here/exports.txt" | sort -u >"$work/ours.txt"
    wc -l <"$out/exports-system.txt"
    echo "there alone: $(comm -23 "$out/exports-system.txt" "$work/ours.txt" | tr '\n' ' ')"
    echo "here alone: $(comm -13 "$out/exports-system.txt" "$work/ours.txt" | tr '\n' ' ')"
    unlisted=$(comm -23 "$out/exports-system.txt" "$work/ours.txt" | grep -vE '^(cudbg.*|cuEGLApiInit|cuMemGetAttribute(_v2)?)$')
    [ -z "$unlisted" ] || { echo "missing: $unlisted" && return 1; }
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
failed=0
for phase in $phases; do
    start=$SECONDS status=0
    ("$phase") >"$out/$phase.log" 2>&1 || status=$?
    echo "= $phase: status $status, $((SECONDS - start)) s"
    tail -n 60 "$out/$phase.log"
    [ "$status" -eq 0 ] || failed=1
done
exit "$failed"
