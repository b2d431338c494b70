#!/usr/bin/env bash
# What Nsight Compute counts of the kernels whose profile `cuda-launch profile` shows. Made by `cargo xtask gpu --profile`.
#
#     profile.sh OUT
#
# OUT/ncu.csv has a line for each kernel of `kernels.txt`, and a column for each counter. OUT/ncu.tar.gz has, for each kernel, all that
# ncu said of the launch (`NAME.raw.csv`) and of each machine instruction (`NAME.source.csv`), and what it printed. Needs a GPU whose counters
# this user may read, and python3; NCU names another `ncu`, LIMIT the
# seconds after which no kernel is begun (270). The exit status is 1 if a kernel has no counters.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: profile.sh OUT}
mkdir -p "$out" && out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The command lines name the kernels by their paths in the repository.
cd "$here" || exit 2
unset CUDA_LAUNCH_DRIVER
ncu=${NCU:-$(command -v ncu || echo /usr/local/cuda/bin/ncu)}

# What is compared, a column each: instructions, branches, arithmetic, global memory, shared memory, local memory. The counters of the hardware,
# and what ncu derives from the instructions and addresses that it sees (`memory_*`).
counters=(smsp__inst_executed smsp__thread_inst_executed smsp__thread_inst_executed_pred_on
    smsp__sass_branch_targets_threads_divergent)
for number in fadd fmul ffma dadd dmul dfma; do
    counters+=("smsp__sass_thread_inst_executed_op_${number}_pred_on")
done
for op in ld st atom red; do
    counters+=("l1tex__t_requests_pipe_lsu_mem_global_op_$op" "l1tex__t_sectors_pipe_lsu_mem_global_op_$op")
done
counters+=(smsp__inst_executed_op_ldgsts smsp__inst_executed_op_ldsm)
for op in ld st atom; do
    counters+=("smsp__inst_executed_op_shared_$op" "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_$op"
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_$op")
done
counters+=(smsp__inst_executed_op_generic_ld smsp__inst_executed_op_generic_st smsp__inst_executed_op_local_ld
    smsp__inst_executed_op_local_st)
# Those of `SourceCounters`.
derived=(memory_l2_theoretical_sectors_global memory_l2_theoretical_sectors_global_ideal memory_l1_wavefronts_shared
    memory_l1_wavefronts_shared_ideal)

# Only those that this ncu knows: it refuses a launch for one name that it does not.
timeout 60 "$ncu" --version >"$work/version.txt" 2>&1
timeout 60 "$ncu" --query-metrics --chip "${CHIP:-gh100}" >"$work/metrics.txt" 2>&1
# Matrices: a counter for each type, whose names differ from one kind of GPU to the next.
while read -r name; do counters+=("$name"); done < <(grep -oE '^ *sm__ops_path_tensor_src_[a-z0-9_]+' "$work/metrics.txt" | grep -v sparsity)
known=()
for name in "${counters[@]}"; do
    if grep -qE "^ *$name +Counter" "$work/metrics.txt"; then
        known+=("$name.sum")
    else
        echo "no counter $name" >>"$work/unknown.txt"
    fi
done
[ ${#known[@]} -gt 0 ] || known=(smsp__inst_executed.sum smsp__thread_inst_executed.sum l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
    l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum)
metrics=$(IFS=,; echo "${known[*]}")
echo "$(sed -n 's/^Version *//p' "$work/version.txt"): ${#known[@]} counters of ${#counters[@]} are known"

# profiled NAME FILE KERNEL OPTION...
profiled() {
    local name=$1 kernel=$3 report=$work/$1.ncu-rep
    shift
    local launch=(bin/cuda-launch run "$@" --driver system --print 0)
    local options=(--force-overwrite --clock-control none --kernel-name-base function --kernel-name "$kernel" --launch-count 1
        --import-source no --export "$report")
    timeout -k 5 60 "$ncu" "${options[@]}" --metrics "$metrics" --section SourceCounters --section InstructionStats \
        "${launch[@]}" >"$work/$name.log" 2>&1 </dev/null
    # A section or a counter that cannot be had is no reason to have nothing.
    [ -s "$report" ] || timeout -k 5 60 "$ncu" "${options[@]}" --metrics "$metrics" "${launch[@]}" >>"$work/$name.log" 2>&1 </dev/null
    [ -s "$report" ] || timeout -k 5 60 "$ncu" "${options[@]}" --section SourceCounters "${launch[@]}" >>"$work/$name.log" 2>&1 </dev/null
    [ -s "$report" ] || return
    # The tables are written while the next kernel runs.
    {
        local read=(timeout 60 "$ncu" --import "$report" --csv --print-units base)
        "${read[@]}" --page raw --print-fp >"$work/$name.raw.csv"
        "${read[@]}" --page source --print-source sass >"$work/$name.source.csv"
    } 2>>"$work/$name.log" &
}

failed=0
while read -r name rest; do
    case $name in '' | '#'*) continue ;; esac
    if [ $SECONDS -gt "${LIMIT:-270}" ]; then
        echo "$name: not run, the time is up" && failed=$((failed + 1)) && continue
    fi
    # shellcheck disable=SC2086 # The command line is words.
    profiled "$name" $rest || { failed=$((failed + 1)) && echo "$name: FAILED" && tail -n 3 "$work/$name.log"; }
done <kernels.txt
wait

# The tables have a row of names, one of units, and one for the launch.
table() {
    python3 - "$work" "$here/kernels.txt" "${counters[@]/%/.sum}" "${derived[@]}" <<'END'
import csv, os, sys

folder, kernels, columns = sys.argv[1], sys.argv[2], sys.argv[3:]
print(",".join(["kernel"] + [column.removesuffix(".sum") for column in columns]))
for line in open(kernels):
    name = line.split()[0] if line.strip() else "#"
    file = os.path.join(folder, f"{name}.raw.csv")
    if name == "#" or not os.path.exists(file):
        continue
    rows = [row for row in csv.reader(open(file, newline="")) if len(row) > 10]
    if len(rows) < 3:
        continue
    values = dict(zip(rows[0], rows[-1]))
    # A number is missing where ncu found no instruction that it is about. A counter that it does not know is no 0.
    def number(column):
        return str(round(float(values[column].replace(",", "") or 0))) if column in values else ""
    print(",".join([name] + [number(column) for column in columns]))
END
}
table >"$out/ncu.csv"

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$work/machine.txt" 2>&1
mkdir "$work/reports" && mv "$work"/*.ncu-rep "$work/reports/" 2>/dev/null
tar -czf "$out/ncu.tar.gz" -C "$work" --exclude reports .
tar -czf "$out/reports.tar.gz" -C "$work" reports
cat "$work/machine.txt"
asked=$(grep -cvE '^(#|[[:space:]]*$)' "$here/kernels.txt")
found=$(cut -d , -f 1 "$out/ncu.csv" | sort -u | grep -vc '^kernel$')
echo "$found kernels of $asked with counters, $SECONDS s"
[ "$failed" -eq 0 ] && [ "$found" -eq "$asked" ]
