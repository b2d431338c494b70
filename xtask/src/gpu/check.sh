#!/usr/bin/env bash
# The matrix of `cuda-launch check` on this machine's driver: what it reports for each planted fault, and for the same program without
# it. Made by `cargo xtask gpu --check`.
#
#     check.sh OUT
#
# Prints a row for each fault, as in `emulator.txt`, and how the rows differ from that; what is reported of programs that nvcc compiles
# on this machine, and of the examples; and how the driver calls of the CUDA runtime differ from those of its stand-in on the emulator.
# OUT/matrix.txt has the rows, OUT/nvcc.txt those of nvcc's programs and the examples, OUT/runtime_calls.txt the calls of each function
# of the runtime, OUT/runtime_calls.log the same with arguments, OUT/logs what the programs and the check wrote. The exit status is 1 if
# a fault is not found or if something right is reported.
# CUDA_LAUNCH_DRIVER=emulator tries it without a GPU; CUDA_LAUNCH_CUDART names another CUDA runtime than the one in the bundle.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: check.sh OUT}
mkdir -p "$out/logs" && out=$(cd "$out" && pwd)
# Programs load the kernels by their paths in the repository.
cd "$here" || exit 2
if [ ! -d bin ]; then
    # `tar` needs the program xz for it, Python does not.
    if command -v xz >/dev/null; then
        tar -xJf bin.tar.xz
    else
        python3 -c 'import tarfile; tarfile.open("bin.tar.xz").extractall()'
    fi || { rm -rf bin; exit 2; }
fi
driver=${CUDA_LAUNCH_DRIVER:-system}
unset CUDA_LAUNCH_DRIVER
if [ "$driver" = emulator ]; then
    export CUDA_LAUNCH_CUDART=$here/bin/stand_in CUDA_LAUNCH_EMULATOR_DEVICES=2
else
    export CUDA_LAUNCH_CUDART=${CUDA_LAUNCH_CUDART:-$here/lib/libcudart.so.13}
fi

# checked LOG COMMAND...: the rules that are reported, and how the program ended if not by itself.
checked() {
    local log=$1 found code signal
    shift
    timeout -k 10 120 bin/cuda-launch check --json --driver "$driver" --recorder bin/cuda-launch-recorder "$@" \
        >"$log.json" 2>"$log.err" </dev/null
    found=$(grep -o '"rule": *"[a-z-]*"' "$log.json" | cut -d '"' -f 4 | sort -u | tr '\n' ' ')
    signal=$(grep -o '"program_signal": *[0-9]*' "$log.json" | grep -o '[0-9]*$')
    code=$(grep -o '"program_code": *[0-9]*' "$log.json" | grep -o '[0-9]*$')
    [ -n "$signal" ] && found+="signal $signal "
    [ "${code:-0}" -ne 0 ] && found+="exit $code "
    [ -s "$log.json" ] || found+="no answer "
    found=${found:--}
    printf '%s' "${found% }"
}

failed=0
: >"$out/matrix.txt"
while IFS= read -r row; do
    left=${row%% |*}
    read -r api rule program options <<<"$left"
    cells=()
    for twin in wrong right; do
        if [ "$api" = driver ]; then
            command=("bin/programs/$program-$twin")
        elif [ "$twin" = wrong ]; then
            command=(bin/faults "$program")
        else
            command=(bin/faults "$program" right)
        fi
        # shellcheck disable=SC2086 # The options are words.
        cells+=("$(checked "$out/logs/$api-$program-$twin" $options -- "${command[@]}")")
    done
    printf '%s | %s | %s\n' "$left" "${cells[0]}" "${cells[1]}" | tee -a "$out/matrix.txt"
    [[ "${cells[0]%% signal*}" == "$rule" && "${cells[1]}" == - ]] || failed=$((failed + 1))
done <emulator.txt

rows=$failed
# Programs with `<<<>>>`, with the runtime as a part of them and as a library, and the examples, which have no fault.
: >"$out/nvcc.txt"
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ "$driver" = emulator ] || [ ! -x "$nvcc" ]; then
    echo "programs that nvcc compiles: skipped, no GPU or no nvcc"
else
    arch=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
    while read -r program rule; do
        for runtime in static shared; do
            cells=()
            for twin in wrong right; do
                made=$out/logs/$program-$runtime-$twin
                define=$([ "$twin" = wrong ] && echo -DWRONG)
                # shellcheck disable=SC2086 # No option where there is none.
                "$nvcc" -arch="$arch" -cudart "$runtime" $define -o "$made" "nvcc/$program.cu" || cells+=("not compiled")
                [ -x "$made" ] && cells+=("$(checked "$made" -- "$made")") && rm "$made"
            done
            printf '%s %s %s | %s | %s\n' "$runtime" "$rule" "$program" "${cells[0]}" "${cells[1]}" | tee -a "$out/nvcc.txt"
            [[ " ${cells[0]} " == *" $rule "* && "${cells[1]}" == - ]] || failed=$((failed + 1))
        done
    done <nvcc/faults.txt
fi
for example in bin/examples/*; do
    name=$(basename "$example")
    options=$([ "$name" = async ] && echo "--allow leak")
    # shellcheck disable=SC2086 # The options are words.
    found=$(CUDA_LAUNCH_KERNEL_DIR=$here/examples/kernels checked "$out/logs/example-$name" $options -- "$example")
    echo "example $name${options:+ $options} | $found" | tee -a "$out/nvcc.txt"
    [ "$found" = - ] || failed=$((failed + 1))
done

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo "no nvidia-smi"
echo "driver: $driver; runtime: $CUDA_LAUNCH_CUDART"
echo "rows: $(wc -l <"$out/matrix.txt"), of which $rows are not as they should be, and $((failed - rows)) of nvcc's programs and the examples; unlike the emulator's:"
differences=$(diff emulator.txt "$out/matrix.txt" | grep '^>')
echo "${differences:-none}"
# Which calls of the driver the runtime makes.
log=$out/runtime_calls.log
timeout -k 10 120 bin/cuda-launch check --driver "$driver" --recorder bin/cuda-launch-recorder --log "$log" -- bin/calls "$log" \
    >"$out/logs/runtime_calls.err" 2>&1 </dev/null
echo "the program of all functions of the runtime: exit $?"
awk '/^== / { printf "%s%s:", (NR > 1 ? "\n" : ""), substr($0, 4); next }
     /cuGetProcAddress/ { next }
     { sub(/^#[0-9]+ /, ""); sub(/\(.*/, ""); printf " %s", $0 }
     END { print "" }' "$log" >"$out/runtime_calls.txt"
echo "driver calls of the stand-in (<) and of this runtime (>):"
diff stand_in_calls.txt "$out/runtime_calls.txt" && echo "no difference"

# The words of what was not expected.
while IFS= read -r row; do
    grep -qxF "$row" emulator.txt && continue
    read -r api _ program _ <<<"$row"
    for twin in wrong right; do
        log=$out/logs/$api-$program-$twin.err
        [ -s "$log" ] && printf '\n== %s %s %s\n' "$api" "$program" "$twin" && head -n 12 "$log"
    done
done <"$out/matrix.txt"
[ "$failed" -eq 0 ]
