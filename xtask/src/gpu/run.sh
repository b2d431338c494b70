#!/usr/bin/env bash
# Runs what `cargo xtask gpu` bundled, on a machine with a GPU and no toolchain.
#
#     run.sh OUT [PHASE...]     phases: tests examples bench tool interop memcheck; all of them if none is named. Two more:
#                               `stress` runs on the emulator, for machines with many cores; `peers` is what
#                               `cargo xtask gpu --peers` bundles, and has no emulator
#
# One line a program is printed, then the sums; the exit status is 1 if anything failed. OUT/logs.tar.gz has what the programs
# printed: one file, because what comes back from a borrowed machine may be limited in number.
# CUDA_LAUNCH_DRIVER=emulator tries the bundle without a GPU (memcheck and bench mean nothing then).
set -uo pipefail
shopt -s nullglob

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: run.sh OUT [PHASE...]}
shift
phases=${*:-tests examples bench tool interop memcheck}
mkdir -p "$out" && out=$(cd "$out" && pwd)

work=$(mktemp -d)
logs=$work/logs
mkdir "$logs"
trap 'tar -czf "$out/logs.tar.gz" -C "$work" logs; rm -rf "$work"' EXIT
trap 'exit 143' TERM INT
unpack() {
    if command -v xz >/dev/null; then
        tar -xJf "$1" -C "$work"
    else
        python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$1" "$work"
    fi
}
unpack "$here/bundle.tar.xz"
# Those of `cargo xtask gpu --compilers`; tests of a compiler that is not among them say that they are skipped.
for archive in "$here"/compilers-*.tar.xz; do
    [ -e "$archive" ] || continue
    unpack "$archive"
    compiler=${archive##*/compilers-}
    compiler=${compiler%.tar.xz}
    export "CUDA_LAUNCH_${compiler^^}=$work/nvidia/cu13/lib"
    echo "with $compiler"
done

# Python's packages may have the compilers and NCCL.
python=$(python3 -c 'import sys; print(sys.prefix)' 2>/dev/null) || python=
export VIRTUAL_ENV=${VIRTUAL_ENV:-$python}

# As under cargo: the package's folder is the current one, and a variable names it.
cd "$work/bundle"
export CARGO_MANIFEST_DIR=$PWD CUDA_LAUNCH_KERNEL_DIR=$PWD/examples/kernels
export CUDA_LAUNCH_DRIVER=${CUDA_LAUNCH_DRIVER:-system} RUST_BACKTRACE=1
# The logs say what was skipped; so does a file, for the sum.
export RUST_TEST_NOCAPTURE=1 CUDA_LAUNCH_TEST_SKIPPED=$work/skipped
: >"$CUDA_LAUNCH_TEST_SKIPPED"

TEST_SECONDS=240
MEMCHECK_SECONDS=300
PEERS_SECONDS=400
passed=0 failed=0 ignored=0 broken=()

# Sums of the lines `test result: ok. 3 passed; 0 failed; 1 ignored; ...` of a log.
counts() {
    awk '/^test result:/ { for (i = 2; i <= NF; i++) { if ($i == "passed;") p += $(i-1)
         if ($i == "failed;") f += $(i-1); if ($i == "ignored;") g += $(i-1) } }
         END { print p + 0, f + 0, g + 0 }' "$1"
}

# report STATUS LABEL LOG SECONDS: one line, and the sums. Status 124 is the time limit.
report() {
    local p f g verdict=ok
    read -r p f g < <(counts "$3")
    passed=$((passed + p)) failed=$((failed + f)) ignored=$((ignored + g))
    # The sanitizer's answer to tests that only look at Rust values.
    if [ "$1" -eq 255 ] && [ "$f" -eq 0 ] && grep -q 'terminated before first instrumented API call' "$3"; then
        set -- 0 "${@:2}"
        verdict='ok (no CUDA call)'
    fi
    if [ "$1" -ne 0 ]; then
        verdict="FAILED (status $1)"
        [ "$1" -eq 124 ] && verdict="FAILED (time limit)"
        broken+=("$2")
    fi
    local counted=''
    [ $((p + f + g)) -gt 0 ] && counted="$p passed, $f failed, $g ignored"
    printf '%-36s %-34s %4d s  %s\n' "$2" "$counted" "$4" "$verdict"
    if [ "$1" -ne 0 ]; then
        grep -E -A 2 '(panicked at|^Error|^=========)' "$3" | grep -v '^--$' | head -n 12 | sed 's/^/    /'
    fi
}

# one LABEL COMMAND...: runs, keeps the log, reports.
one() {
    local label=$1 log=$logs/${1// /-}.log start=$SECONDS status=0
    shift
    "$@" >"$log" 2>&1 </dev/null || status=$?
    report "$status" "$label" "$log" $((SECONDS - start))
}

tests() {
    local program
    for program in bin/tests/*; do
        one "test ${program##*/}" timeout -k 10 "$TEST_SECONDS" "$program"
    done
}

examples() {
    local program
    for program in bin/examples/*; do
        one "example ${program##*/}" timeout -k 10 "$TEST_SECONDS" "$program"
    done
}

bench() {
    # All but the two that take minutes.
    local variants=(function kernel-module function-slices kernel-module-slices typed builder builder-slices two-readers prepared
        prepared-set-4 name-at-run-time async async-macro function-attribute function-cluster alloc-drop event-drop stream-drop
        event-record synchronize sync await module-ptx)
    one "bench launch_cost" timeout -k 10 "$TEST_SECONDS" bin/bench/launch_cost time "${variants[@]}"
    cat "$logs/bench-launch_cost.log"
    one "bench launch_plan" timeout -k 10 "$TEST_SECONDS" bin/bench/launch_plan
    cat "$logs/bench-launch_plan.log"
    one "bench async_cost" timeout -k 10 "$TEST_SECONDS" bin/bench/async_cost check
    cat "$logs/bench-async_cost.log"
    one "bench shared_weights" timeout -k 10 "$TEST_SECONDS" bin/bench/shared_weights check
    cat "$logs/bench-shared_weights.log"
    one "bench copy_bandwidth" timeout -k 10 "$TEST_SECONDS" bin/bench/copy_bandwidth check
    cat "$logs/bench-copy_bandwidth.log"
}

# This crate, bare calls and other crates in one program.
peers() {
    one "peers" timeout -k 10 "$PEERS_SECONDS" bin/peers/peers
    cat "$logs/peers.log"
}

# The tool `cuda-launch` as a person would use it: what it says of the images is compared by the test `image_facts`.
tool() {
    local t=bin/tool/cuda-launch k=examples/kernels arguments
    arguments=(--arg 'in:f32[]:0..1000000' --arg 'in:f32[]:1000000*0.5' --arg 'out:f32[]:1000000')
    one "tool doctor" timeout 60 "$t" doctor
    one "tool run" timeout 60 "$t" run "$k/vecadd.ptx" vecadd "${arguments[@]}"
    one "tool run --bench" timeout 60 "$t" run "$k/vecadd.ptx" vecadd --bench --roofline "${arguments[@]}"
    one "tool occupancy" timeout 60 "$t" occupancy "$k/matmul.ptx" matmul
    one "tool trace" env -u CUDA_LAUNCH_DRIVER timeout 60 "$t" trace --driver "$CUDA_LAUNCH_DRIVER" --output "$work/trace.json" -- bin/examples/async
    cp "$work/trace.json" "$logs/" 2>/dev/null
    tail -n 12 "$logs/tool-doctor.log" "$logs"/tool-run*.log "$logs"/tool-occupancy.log "$logs"/tool-trace.log
}

# Beside other libraries, where this machine has them: the programs say themselves what they lack, `ncu` and Python's packages are
# looked for. The last two are programs that know nothing of this crate: what they ask of the driver is recorded.
interop() {
    local t=bin/tool/cuda-launch i=bin/interop nccl program ncu
    nccl=$(find "$VIRTUAL_ENV" -name 'libnccl.so.2' -print -quit 2>/dev/null)
    for program in tracing cudarc; do
        one "interop $program" timeout 60 "$i/$program"
    done
    one "interop nccl" env ${nccl:+CUDA_LAUNCH_NCCL="$nccl"} timeout 120 "$i/nccl"
    interop_ranks "$t" "$i/ranks" "$nccl"
    if command -v python3 >/dev/null; then
        one "interop dlpack" timeout 120 python3 "$i/dlpack.py" "$i/libcuda_launch_dlpack.so"
    else
        echo "interop dlpack: skipped, no python3"
    fi
    ncu=$(command -v ncu || echo /usr/local/cuda/bin/ncu)
    if [ -x "$ncu" ]; then
        one "interop nvtx" timeout 120 "$ncu" --nvtx --clock-control none --section LaunchStats "$i/nvtx"
    else
        echo "interop nvtx: skipped, no ncu"
    fi
    for program in torch cupy; do
        if ! python3 -c "import $program" 2>/dev/null; then
            echo "interop trace $program: skipped, not installed"
            continue
        fi
        one "interop trace $program" env -u CUDA_LAUNCH_DRIVER timeout 120 "$t" trace --driver system \
            --output "$logs/$program.json" -- python3 -c "import $program as p
a = p.ones(1 << 20, **({'device': 'cuda'} if '$program' == 'torch' else {}))
assert float((a + a).sum()) == 2 << 20"
    done
    tail -n 20 "$logs"/interop-*.log
}

# rank NUMBER PORT COMMAND...: this process becomes that rank of two on this machine.
rank() {
    local number=$1 port=$2
    shift 2
    exec env RANK="$number" LOCAL_RANK="$number" WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" "$@"
}

# interop_ranks TOOL PROGRAM NCCL: one process for each of two GPUs.
interop_ranks() {
    local tool=$1 program=$2 gpus
    gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
    if [ "$CUDA_LAUNCH_DRIVER" = emulator ] || [ "$gpus" -lt 2 ]; then
        echo "interop ranks: skipped, no two GPUs"
        return
    fi
    if [ -n "$3" ]; then
        export CUDA_LAUNCH_NCCL=$3
    elif ! ldconfig -p 2>/dev/null | grep -q 'libnccl\.so\.2'; then
        echo "interop ranks: skipped, no NCCL"
        return
    fi
    one "interop ranks" timeout 120 "$program" --local 2 --elements 16777216
    one "interop ranks trace" traced_rank "$tool" "$program"
    one "interop ranks killed" killed_rank "$program"
    unset CUDA_LAUNCH_NCCL
}

# Rank 0 under `trace`: its sums run beside the kernels of the next layer.
traced_rank() {
    (rank 1 29411 timeout 120 "$2" --elements 16777216) &
    local other=$! status=0
    (rank 0 29411 env -u CUDA_LAUNCH_DRIVER timeout 120 "$1" trace --driver "$CUDA_LAUNCH_DRIVER" --output "$logs/ranks.json" \
        -- "$2" --elements 16777216) || status=$?
    wait "$other" && return "$status"
}

# Rank 1 is killed in the middle: rank 0 must say so, and end by itself.
killed_rank() {
    local log=$work/killed zero one status=0
    (rank 0 29412 timeout 120 "$1" --steps 100000000) >"$log" 2>&1 &
    zero=$!
    (rank 1 29412 "$1" --steps 100000000) >"$log.1" 2>&1 &
    one=$!
    until grep -q 'step 2$' "$log" || ! kill -0 "$zero" 2>/dev/null; do
        sleep 0.1
    done
    kill -KILL "$one"
    local start=$SECONDS
    wait "$zero" || status=$?
    grep -v ': step ' "$log"
    echo "rank 0 ended with status $status, $((SECONDS - start)) s after rank 1 was killed"
    [ "$status" -eq 1 ] && grep -q 'rank 0: rank 1 is gone' "$log"
}

# Tests that hold up a stream while they go on. The last one starts itself with an empty variable, which it does not find under the
# sanitizer.
NOT_IN_MEMCHECK='a_stream_may_be_dropped_while_its_work_runs a_shared_operation_on_streams_of_threads_is_ordered
    threads_that_share_a_handle_of_their_streams_are_told_apart the_users_cache_is_where_the_variable_says'

# Binaries with `fault` in their name stop kernels on purpose, and `malformed_images` loads damaged code, which the sanitizer would
# rewrite. The other tests provoke errors of the driver, which are not the kernels' doing; the examples must have none at all.
memcheck() {
    local program sanitizer
    sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
    local check=(timeout -k 10 "$MEMCHECK_SECONDS" "$sanitizer" --tool memcheck --error-exitcode 9)
    local test skip=(--skip fault)
    for test in $NOT_IN_MEMCHECK; do
        skip+=(--skip "$test")
    done
    for program in bin/examples/*; do
        one "memcheck example ${program##*/}" "${check[@]}" "$program"
    done
    for program in bin/tests/*; do
        case $program in
            *fault* | *malformed*) ;;
            # One at a time: the sanitizer waits for the device where the program does not, which breaks the captures of other
            # threads. For the same reason not the tests in NOT_IN_MEMCHECK.
            *) one "memcheck test ${program##*/}" "${check[@]}" --report-api-errors no "$program" --test-threads=1 \
                "${skip[@]}" ;;
        esac
    done
}

STRESS_ROUNDS=10
RANDOM_PROGRAMS=20000

# On the emulator, which CI's few cores do not load like this: all tests again and again, three programs a core, then random programs.
# Logs are kept of what failed.
stress() {
    local cores round program first
    cores=$(nproc)
    local share=$((RANDOM_PROGRAMS / cores + 1))
    {
        for ((round = 1; round <= STRESS_ROUNDS; round++)); do
            for program in bin/tests/*; do
                printf '%s\n' "$program round-$round"
            done
        done
        for ((first = 0; first < RANDOM_PROGRAMS; first += share)); do
            printf '%s\n' "bin/tests/safe_programs seed-$first CUDA_LAUNCH_SEED=$first CUDA_LAUNCH_RANDOM_PROGRAMS=$share"
        done
    } >"$work/stress"
    export -f stressed
    # shellcheck disable=SC2016 # For the inner shell.
    CUDA_LAUNCH_DRIVER=emulator RUST_TEST_THREADS=$cores LOGS=$logs \
        xargs -P $((3 * cores)) -L 1 bash -c 'stressed "$@"' stressed <"$work/stress" >"$logs/stress.log"
    passed=$((passed + $(grep -c '^ok' "$logs/stress.log"))) failed=$((failed + $(grep -c '^FAILED' "$logs/stress.log")))
    grep '^FAILED' "$logs/stress.log" && broken+=(stress)
}

# stressed PROGRAM NAME [VARIABLE=VALUE...]
stressed() {
    local program=$1 name=$2 log
    shift 2
    log=$LOGS/stress-${program##*/}-$name.log
    if env "$@" timeout -k 10 600 "$program" >"$log" 2>&1 </dev/null; then
        rm "$log"
        echo "ok $program $name"
    else
        echo "FAILED $program $name: $(grep -E -m 1 -A 1 'panicked at' "$log" | tr '\n' ' ')"
    fi
}

{ nvidia-smi; ldd --version | head -n 1; uname -srm; } >"$logs/machine.log" 2>&1
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo "no nvidia-smi"
echo "driver: $CUDA_LAUNCH_DRIVER; phases: $phases"
for phase in $phases; do
    before=("$passed" "$failed" "$ignored") start=$SECONDS
    case $phase in
        tests | examples | bench | tool | interop | memcheck | stress | peers) "$phase" ;;
        *) echo "no phase $phase" >&2; exit 2 ;;
    esac
    printf '= %s: %d passed, %d failed, %d ignored, %d s\n' "$phase" $((passed - before[0])) $((failed - before[1])) \
        $((ignored - before[2])) $((SECONDS - start))
done
# Once for each test, though memcheck runs it again and some tests run themselves again.
sort -u "$CUDA_LAUNCH_TEST_SKIPPED" >"$logs/skipped.log"
printf '\nskipped tests, or parts of tests: %d\n' "$(cut -d ' ' -f 2 "$logs/skipped.log" | sort -u | wc -l)"
sed 's/^skipped: /    /' "$logs/skipped.log"
printf '\n%d passed, %d failed, %d ignored; programs that failed: %d\n' "$passed" "$failed" "$ignored" "${#broken[@]}"
[ ${#broken[@]} -eq 0 ] || { printf '    %s\n' "${broken[@]}"; exit 1; }
