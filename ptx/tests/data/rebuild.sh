#!/bin/sh
# Makes the images in this folder from the sources beside them. Needs nvcc, ptxas and fatbinary of CUDA 13.0 in PATH,
# clang-16, and the older assemblers' paths in PTXAS_11_8 and PTXAS_12_4. examples/kernels/rebuild.py makes archs.sm_*.cubin.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# Paths of sources go into line tables: always the same one.
work=/tmp/cuda-ptx-data
mkdir "$work"
trap 'rm -r "$work"' EXIT
cp "$here"/*.cu "$here"/legacy.ptx "$work"
cd "$work"
# The path of the toolkit's own headers is nobody's business.
clean() { sed -E 's|"[^"]*/include/|"include/|' "$1" >"$here/$1"; }

for name in basic features cluster; do
    nvcc -arch=sm_90 -ptx $name.cu -o $name.ptx
    nvcc -arch=sm_100 -ptx $name.cu -o $name.sm_100.ptx
    clean $name.ptx
    clean $name.sm_100.ptx
    nvcc -arch=sm_90 -cubin $name.cu -o "$here/$name.sm_90.cubin"
done
nvcc -arch=sm_90 -lineinfo -ptx features.cu -o features.lineinfo.ptx
nvcc -arch=sm_90 -G -ptx basic.cu -o basic.debug.ptx
nvcc -arch=sm_90 -G -ptx named.cu -o named.debug.ptx
clean features.lineinfo.ptx
clean basic.debug.ptx
clean named.debug.ptx
# By ptxas alone: nvcc gives it a temporary file, whose name stays in the cubin. So does the date of the source.
touch -d 2000-01-01T00:00:00Z named.cu
ptxas -g -arch=sm_90 named.debug.ptx -o named.debug.sm_90.cubin
cp named.debug.sm_90.cubin "$here"
cp "$here/../../../tests/kernels/clang/device.h" .
clang-16 -x cuda --cuda-device-only -nocudainc -nocudalib -Wno-unknown-cuda-version --cuda-gpu-arch=sm_75 -std=c++17 \
    -include device.h -O0 -g -S named.cu -o "$here/named.clang.ptx"
nvcc -arch=sm_90 -cubin attributes.cu -o "$here/attributes.sm_90.cubin"
nvcc -arch=sm_75 -cubin basic.cu -o "$here/basic.sm_75.cubin"
nvcc -arch=sm_90a -cubin basic.cu -o "$here/basic.sm_90a.cubin"
nvcc -arch=sm_100a -cubin basic.cu -o "$here/basic.sm_100a.cubin"
nvcc -arch=sm_90 -rdc=true -cubin basic.cu -o "$here/basic.rdc.cubin"
"$PTXAS_11_8" -arch=sm_50 legacy.ptx -o "$here/legacy.sm_50.cubin"
"$PTXAS_12_4" -arch=sm_90a legacy.ptx -o "$here/legacy.sm_90a.cubin"

both="-gencode arch=compute_90,code=[sm_90,compute_90]"
nvcc -fatbin --no-compress $both basic.cu -o "$here/basic.plain.fatbin"
nvcc -fatbin -Xfatbin -compress-mode=size $both basic.cu -o "$here/basic.zstd.fatbin"
nvcc -fatbin -Xfatbin -compress-mode=speed $both basic.cu -o "$here/basic.lz4.fatbin"
nvcc -fatbin --no-compress -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_100f,code=compute_100f \
    -gencode arch=compute_80,code=compute_80 basic.cu -o "$here/basic.suffixes.fatbin"
nvcc -fatbin -gencode arch=compute_90,code=lto_90 basic.cu -o "$here/basic.lto.fatbin"
RUSTC_BOOTSTRAP=1 rustc --edition 2024 --target nvptx64-nvidia-cuda -C target-cpu=sm_80 -C opt-level=2 -C panic=abort \
    --emit=asm "$here/rust.rs" -o "$here/rust.ptx"
# From here: the path of the source stands in what a debugger reads.
cp "$here/rust.rs" .
RUSTC_BOOTSTRAP=1 rustc --edition 2024 --target nvptx64-nvidia-cuda -C target-cpu=sm_80 -C opt-level=2 -C panic=abort -g \
    --emit=asm rust.rs -o "$here/rust.debug.ptx"
