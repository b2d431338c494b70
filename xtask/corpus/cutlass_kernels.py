"""Kernels that instantiate the templates of CUTLASS and CuTe."""

import pathlib
import sysconfig

HEADERS = pathlib.Path(sysconfig.get_paths()["purelib"]) / "cutlass_library/source/include"

GEMM = """
#include <cutlass/cutlass.h>
#include <cutlass/gemm/device/gemm.h>
#include <cutlass/epilogue/thread/linear_combination.h>
#include <cutlass/epilogue/thread/linear_combination_relu.h>
#include <cutlass/epilogue/thread/linear_combination_gelu.h>
#include <cutlass/epilogue/thread/linear_combination_clamp.h>
using namespace cutlass; using namespace cutlass::gemm; using namespace cutlass::layout; using namespace cutlass::arch; using namespace cutlass::epilogue::thread;
template<int M, int N, int K> using S = GemmShape<M, N, K>;
"""
# Elements of A and B, layouts, element of C, accumulator, class, architecture, block, warp, instruction, epilogue, stages.
GEMMS = {
    "f16_tensor": "half_t, RowMajor, half_t, ColumnMajor, half_t, RowMajor, float, OpClassTensorOp, Sm80, S<128, 128, 32>, S<64, 64, 32>, S<16, 8, 16>, LinearCombination<half_t, 8, float, float>, X<>, 4",
    "f16_relu": "half_t, ColumnMajor, half_t, RowMajor, half_t, RowMajor, half_t, OpClassTensorOp, Sm80, S<128, 64, 32>, S<64, 32, 32>, S<16, 8, 16>, LinearCombinationRelu<half_t, 8, half_t, half_t>, X<>, 3",
    "bf16_gelu": "bfloat16_t, RowMajor, bfloat16_t, RowMajor, bfloat16_t, RowMajor, float, OpClassTensorOp, Sm80, S<64, 128, 32>, S<32, 64, 32>, S<16, 8, 16>, LinearCombinationGELU<bfloat16_t, 8, float, float>, X<>, 3",
    "tf32": "tfloat32_t, RowMajor, tfloat32_t, ColumnMajor, float, RowMajor, float, OpClassTensorOp, Sm80, S<128, 128, 16>, S<64, 64, 16>, S<16, 8, 8>, LinearCombination<float, 4, float, float>, X<>, 3",
    "f64": "double, ColumnMajor, double, RowMajor, double, ColumnMajor, double, OpClassTensorOp, Sm80, S<64, 64, 16>, S<32, 32, 16>, S<8, 8, 4>, LinearCombination<double, 1, double, double>, X<>, 4",
    "i8_clamp": "int8_t, RowMajor, int8_t, ColumnMajor, int8_t, RowMajor, int, OpClassTensorOp, Sm80, S<128, 128, 64>, S<64, 64, 64>, S<16, 8, 32>, LinearCombinationClamp<int8_t, 16, int, float>, X<>, 3",
    "f32_simt": "float, RowMajor, float, RowMajor, float, RowMajor, float, OpClassSimt, Sm80, S<128, 128, 8>, S<32, 64, 8>, S<1, 1, 1>, LinearCombination<float, 1, float, float>, X<>, 4",
    "f16_turing": "half_t, RowMajor, half_t, ColumnMajor, float, RowMajor, float, OpClassTensorOp, Sm75, S<128, 128, 32>, S<64, 64, 32>, S<16, 8, 8>, LinearCombination<float, 4, float, float>, X<>, 2",
}
HOPPER = """
#include <cutlass/cutlass.h>
#include <cute/tensor.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/operations.hpp>
#include <cutlass/device_kernel.h>
using namespace cute; using namespace cutlass; namespace ge = cutlass::gemm; namespace ep = cutlass::epilogue;
template<class A, class B, class C, class Sum, class Tile, class Cluster, class Main, class End, class Op>
struct Make {
  using Epilogue = typename ep::collective::CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, Tile, Cluster, ep::collective::EpilogueTileAuto, Sum, Sum,
    C, layout::RowMajor, 16 / sizeof(C), C, layout::RowMajor, 16 / sizeof(C), End, Op>::CollectiveOp;
  using Mainloop = typename ge::collective::CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, A, layout::RowMajor, 16 / sizeof(A), B, layout::ColumnMajor, 16 / sizeof(B), Sum,
    Tile, Cluster, ge::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>, Main>::CollectiveOp;
  using Kernel = ge::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue>;
};
"""
PINGPONG = "ge::KernelTmaWarpSpecializedPingpong, ep::TmaWarpSpecialized"
COOPERATIVE = "ge::KernelTmaWarpSpecializedCooperative, ep::TmaWarpSpecializedCooperative"
SPECIALIZED = "ge::KernelTmaWarpSpecialized, ep::NoSmemWarpSpecialized"
PLAIN_OP = "ep::fusion::LinearCombination<{c}, float>"
HOPPERS = {
    "f16_pingpong": f"half_t, half_t, half_t, float, Shape<_64, _128, _64>, Shape<_2, _1, _1>, {PINGPONG}, {PLAIN_OP.format(c='half_t')}",
    "bf16_cooperative": f"bfloat16_t, bfloat16_t, float, float, Shape<_128, _128, _64>, Shape<_1, _2, _1>, {COOPERATIVE}, ep::fusion::LinCombEltAct<ep::thread::ReLu, float, float>",
    "e4m3": f"float_e4m3_t, float_e5m2_t, half_t, float, Shape<_64, _64, _128>, Shape<_1, _1, _1>, {SPECIALIZED}, {PLAIN_OP.format(c='half_t')}",
}
CUTE = """
#include <cute/tensor.hpp>
using namespace cute;
"""
# Kernels of our own over layouts, copies and products.
CUTES = {
    "transpose": ("sm_80", """
__global__ void transpose(float const* x, float* y, int n) {
  auto in = make_tensor(make_gmem_ptr(x), make_layout(make_shape(n, n), make_stride(n, _1{})));
  auto out = make_tensor(make_gmem_ptr(y), make_layout(make_shape(n, n), make_stride(_1{}, n)));
  auto tile = Shape<_32, _32>{};
  auto from = local_tile(in, tile, make_coord(blockIdx.x, blockIdx.y)); auto to = local_tile(out, tile, make_coord(blockIdx.x, blockIdx.y));
  __shared__ float memory[32 * 32];
  auto s = make_tensor(make_smem_ptr(memory), composition(Swizzle<5, 0, 5>{}, make_layout(tile, LayoutRight{})));
  auto threads = make_layout(Shape<_8, _32>{}, LayoutRight{});
  copy(local_partition(from, threads, threadIdx.x), local_partition(s, threads, threadIdx.x));
  __syncthreads();
  copy(local_partition(s, threads, threadIdx.x), local_partition(to, threads, threadIdx.x)); }
"""),
    "vectors": ("sm_80", """
template<class T, class V> __global__ void vectors(T const* x, T* y, int n) {
  auto in = make_tensor(make_gmem_ptr(x), make_layout(n)); auto out = make_tensor(make_gmem_ptr(y), make_layout(n));
  auto tile = Shape<Int<512 * sizeof(V) / sizeof(T)>>{};
  auto way = make_tiled_copy(Copy_Atom<UniversalCopy<V>, T>{}, Layout<Shape<_128>>{}, Layout<Shape<Int<sizeof(V) / sizeof(T)>>>{});
  auto part = way.get_slice(threadIdx.x);
  auto from = part.partition_S(local_tile(in, tile, make_coord(blockIdx.x))); auto to = part.partition_D(local_tile(out, tile, make_coord(blockIdx.x)));
  auto held = make_fragment_like(from); copy(way, from, held);
  transform(held, [](T v) { return T(v + v); }); copy(way, held, to); }
template __global__ void vectors<float, uint128_t>(float const*, float*, int); template __global__ void vectors<double, uint128_t>(double const*, double*, int);
template __global__ void vectors<int8_t, uint32_t>(int8_t const*, int8_t*, int); template __global__ void vectors<half_t, uint64_t>(half_t const*, half_t*, int);
"""),
    "product": ("sm_80", """
template<class T, class Atom, class Load> __global__ void multiply(T const* a, T const* b, float* c, int m, int n, int k) {
  auto A = make_tensor(make_gmem_ptr(a), make_layout(make_shape(m, k), make_stride(k, _1{}))); auto B = make_tensor(make_gmem_ptr(b), make_layout(make_shape(n, k), make_stride(k, _1{})));
  auto C = make_tensor(make_gmem_ptr(c), make_layout(make_shape(m, n), make_stride(n, _1{})));
  auto at = make_coord(blockIdx.x, blockIdx.y, _); auto tile = Shape<_64, _64, _32>{};
  auto gA = local_tile(A, tile, at, Step<_1, X, _1>{}); auto gB = local_tile(B, tile, at, Step<X, _1, _1>{}); auto gC = local_tile(C, tile, at, Step<_1, _1, X>{});
  auto layout = tile_to_shape(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{}), Shape<_64, _32, _2>{});
  __shared__ alignas(128) T ma[64 * 32 * 2], mb[64 * 32 * 2];
  auto sA = make_tensor(make_smem_ptr(ma), layout); auto sB = make_tensor(make_smem_ptr(mb), layout);
  auto way = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, T>{}, Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{});
  auto mine = way.get_slice(threadIdx.x);
  auto fa = mine.partition_S(gA); auto fb = mine.partition_S(gB); auto ta = mine.partition_D(sA); auto tb = mine.partition_D(sB);
  auto mma = make_tiled_mma(Atom{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, _32, _16>{}); auto me = mma.get_slice(threadIdx.x);
  auto rA = me.partition_fragment_A(sA(_, _, 0)); auto rB = me.partition_fragment_B(sB(_, _, 0)); auto gc = me.partition_C(gC); auto sum = me.make_fragment_C(gc); clear(sum);
  auto la = make_tiled_copy_A(Copy_Atom<Load, T>{}, mma); auto lb = make_tiled_copy_B(Copy_Atom<Load, T>{}, mma); auto pa = la.get_slice(threadIdx.x); auto pb = lb.get_slice(threadIdx.x);
  copy(way, fa(_, _, _, 0), ta(_, _, _, 0)); copy(way, fb(_, _, _, 0), tb(_, _, _, 0)); cp_async_fence();
  for (int i = 0, blocks = size<2>(gA); i < blocks; i++) {
    if (i + 1 < blocks) { copy(way, fa(_, _, _, i + 1), ta(_, _, _, (i + 1) & 1)); copy(way, fb(_, _, _, i + 1), tb(_, _, _, (i + 1) & 1)); }
    cp_async_fence(); cp_async_wait<1>(); __syncthreads();
    copy(la, pa.partition_S(sA(_, _, i & 1)), pa.retile_D(rA)); copy(lb, pb.partition_S(sB(_, _, i & 1)), pb.retile_D(rB));
    gemm(mma, rA, rB, sum); __syncthreads(); }
  axpby(1.5f, sum, 0.5f, gc); }
template __global__ void multiply<half_t, SM80_16x8x16_F32F16F16F32_TN, SM75_U32x4_LDSM_N>(half_t const*, half_t const*, float*, int, int, int);
template __global__ void multiply<bfloat16_t, SM80_16x8x16_F32BF16BF16F32_TN, SM75_U32x2_LDSM_N>(bfloat16_t const*, bfloat16_t const*, float*, int, int, int);
"""),
    "warpgroup": ("sm_90a", """
template<class T, class Atom> __global__ void warpgroup(T const* a, T const* b, float* c) {
  auto layout = tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{}, Shape<_64, Int<128 / sizeof(T)>>{});
  __shared__ alignas(1024) T ma[cosize_v<decltype(layout)>], mb[cosize_v<decltype(layout)>];
  auto sA = make_tensor(make_smem_ptr(ma), layout); auto sB = make_tensor(make_smem_ptr(mb), layout);
  auto flat = make_layout(shape(layout), LayoutRight{});
  auto way = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, T>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, Int<16 / sizeof(T)>>>{}); auto mine = way.get_slice(threadIdx.x);
  copy(way, mine.partition_S(make_tensor(make_gmem_ptr(a), flat)), mine.partition_D(sA)); copy(way, mine.partition_S(make_tensor(make_gmem_ptr(b), flat)), mine.partition_D(sB));
  cp_async_fence(); cp_async_wait<0>(); __syncthreads();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  auto mma = make_tiled_mma(Atom{}); auto me = mma.get_slice(threadIdx.x);
  auto gc = me.partition_C(make_tensor(make_gmem_ptr(c), make_layout(Shape<_64, _64>{}, LayoutRight{}))); auto sum = me.make_fragment_C(gc); clear(sum);
  auto rA = me.partition_fragment_A(sA); auto rB = me.partition_fragment_B(sB);
  warpgroup_fence_operand(sum); warpgroup_arrive(); gemm(mma, rA, rB, sum); warpgroup_commit_batch(); warpgroup_wait<0>(); warpgroup_fence_operand(sum);
  copy(sum, gc); }
template __global__ void warpgroup<half_t, SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>>(half_t const*, half_t const*, float*);
template __global__ void warpgroup<bfloat16_t, SM90_64x64x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::K>>(bfloat16_t const*, bfloat16_t const*, float*);
template __global__ void warpgroup<tfloat32_t, SM90_64x64x8_F32TF32TF32_SS_TN<>>(tfloat32_t const*, tfloat32_t const*, float*);
template __global__ void warpgroup<float_e4m3_t, SM90_64x64x32_F32E4M3E4M3_SS_TN<>>(float_e4m3_t const*, float_e4m3_t const*, float*);
"""),
    "barriers": ("sm_90a", """
#include <cutlass/arch/barrier.h>
__global__ void barriers(float const* x, float* y) {
  __shared__ alignas(128) float s[2][256]; __shared__ uint64_t full[2];
  if (threadIdx.x == 0) { for (int i = 0; i < 2; i++) initialize_barrier(full[i], 1); cutlass::arch::fence_barrier_init(); }
  __syncthreads();
  for (int i = 0; i < 8; i++) {
    if (threadIdx.x == 0) { set_barrier_transaction_bytes(full[i & 1], 1024); SM90_BULK_COPY_G2S::copy(x + i * 256, &full[i & 1], s[i & 1], 1024); }
    wait_barrier(full[i & 1], (i >> 1) & 1); y[i * 256 + threadIdx.x] = s[i & 1][255 - threadIdx.x]; __syncthreads(); }
  if (cute::elect_one_sync()) y[0] = cute::block_rank_in_cluster(); cute::cluster_sync(); }
"""),
}


def sources():
    """Name, architecture and source of each, and the kernel to instantiate where the source does not do so itself."""
    for name, arguments in GEMMS.items():
        arguments = arguments.replace("X<>", "threadblock::GemmIdentityThreadblockSwizzle<>")
        yield f"gemm_{name}", "sm_75" if "Sm75" in arguments else "sm_80", f"{GEMM}using K = device::Gemm<{arguments}>::GemmKernel;\n", "cutlass::Kernel<K>"
    for name, arguments in HOPPERS.items():
        yield f"hopper_{name}", "sm_90a", f"{HOPPER}using K = Make<{arguments}>::Kernel;\n", "cutlass::device_kernel<K>"
    for name, (arch, text) in CUTES.items():
        yield f"cute_{name}", arch, CUTE + text, None
