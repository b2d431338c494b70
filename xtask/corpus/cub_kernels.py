"""Kernels over the algorithms of CUB for warps and blocks, libcu++, and cooperative groups."""

KERNELS = {
    "block_sort": """
template<class T> __global__ void f(T* x) {
  using Sort = cub::BlockRadixSort<T, 128, 4, int>; __shared__ typename Sort::TempStorage s;
  T k[4]; int v[4]; for (int i = 0; i < 4; i++) { k[i] = x[threadIdx.x * 4 + i]; v[i] = i; }
  Sort(s).SortDescending(k, v); for (int i = 0; i < 4; i++) x[threadIdx.x * 4 + i] = k[i] + (T)v[i]; }
template __global__ void f(int*); template __global__ void f(float*); template __global__ void f(double*); template __global__ void f(unsigned char*);""",
    "block_scan": """
template<class T, cub::BlockScanAlgorithm A> __global__ void f(T* x) {
  using Scan = cub::BlockScan<T, 256, A>; __shared__ typename Scan::TempStorage s; T all;
  Scan(s).ExclusiveSum(x[threadIdx.x], x[threadIdx.x], all); if (!threadIdx.x) x[256] = all; }
template __global__ void f<int, cub::BLOCK_SCAN_RAKING>(int*); template __global__ void f<double, cub::BLOCK_SCAN_WARP_SCANS>(double*);
template __global__ void f<short, cub::BLOCK_SCAN_RAKING_MEMOIZE>(short*);""",
    "warp": """
template<class T> __global__ void f(T* x) {
  using R = cub::WarpReduce<T, 16>; using S = cub::WarpScan<T>; using M = cub::WarpMergeSort<T, 4, 32>;
  __shared__ union { typename R::TempStorage r; typename S::TempStorage s; typename M::TempStorage m; } u;
  T v = R(u.r).Sum(x[threadIdx.x]); __syncwarp(); S(u.s).InclusiveSum(v, v); T k[4] = {v, v, v, v}; __syncwarp();
  M(u.m).Sort(k, [](T a, T b) { return a < b; }); x[threadIdx.x] = k[3]; }
template __global__ void f(int*); template __global__ void f(float*); template __global__ void f(long long*);""",
    "block_io": """
template<class T, cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm W> __global__ void f(T* x, int n) {
  using Load = cub::BlockLoad<T, 128, 7, L>; using Store = cub::BlockStore<T, 128, 7, W>; using D = cub::BlockDiscontinuity<T, 128>;
  __shared__ union { typename Load::TempStorage l; typename Store::TempStorage s; typename D::TempStorage d; } u; T v[7]; int h[7];
  Load(u.l).Load(x, v, n, T()); __syncthreads(); D(u.d).FlagHeads(h, v, cuda::std::not_equal_to<>()); __syncthreads();
  for (int i = 0; i < 7; i++) v[i] += (T)h[i]; Store(u.s).Store(x, v, n); }
template __global__ void f<int, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(int*, int);
template __global__ void f<float, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(float*, int);
template __global__ void f<char, cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_STRIPED>(char*, int);""",
    "groups": """
__global__ void f(int* x) { auto b = cg::this_thread_block(); auto t = cg::tiled_partition<8>(b); auto w = cg::coalesced_threads();
  int v = cg::reduce(t, x[b.thread_rank()], cg::plus<int>()); v += cg::inclusive_scan(t, v); v ^= w.shfl(v, 0); v += t.match_any(v) + t.ballot(v > 3);
  if (v & 1) { auto c = cg::coalesced_threads(); v += c.size() + cg::reduce(c, v, cg::greater<int>()); } b.sync(); x[b.thread_rank()] = v; }
__global__ void g(int* x) { auto g = cg::this_grid(); x[g.thread_rank()] += 1; g.sync(); x[g.thread_rank()] += x[(g.thread_rank() + 1) % g.size()]; }
__global__ void h(int* x) { extern __shared__ int s[]; auto b = cg::this_thread_block(); auto m = cg::labeled_partition(cg::tiled_partition<32>(b), x[0]); x[b.thread_rank()] = m.size(); }""",
    "atomics": """
template<class T, cuda::thread_scope S> __global__ void f(T* x) { cuda::atomic_ref<T, S> a(*x);
  a.fetch_add(T(1), cuda::memory_order_acq_rel); a.fetch_max(T(3)); a.store(T(2), cuda::memory_order_release); T v = a.load(cuda::memory_order_acquire);
  a.compare_exchange_strong(v, T(7)); a.exchange(T(1)); cuda::atomic_thread_fence(cuda::memory_order_seq_cst, S); x[1] = v; }
template __global__ void f<int, cuda::thread_scope_block>(int*); template __global__ void f<unsigned long long, cuda::thread_scope_device>(unsigned long long*);
template __global__ void f<float, cuda::thread_scope_system>(float*); template __global__ void f<short, cuda::thread_scope_device>(short*);
template __global__ void f<double, cuda::thread_scope_device>(double*);""",
    "pipeline": """
__global__ void f(int* x, int n) { __shared__ int s[2][128]; __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto b = cg::this_thread_block(); auto p = cuda::make_pipeline(b, &state);
  for (int i = 0; i < n; i++) { p.producer_acquire(); cuda::memcpy_async(b, s[i & 1], x + i * 128, cuda::aligned_size_t<16>(512), p); p.producer_commit();
    p.consumer_wait(); x[i * 128 + b.thread_rank()] = s[i & 1][127 - b.thread_rank()]; p.consumer_release(); } }
__global__ void g(int* x) { __shared__ cuda::barrier<cuda::thread_scope_block> bar; __shared__ int s[256]; if (!threadIdx.x) init(&bar, blockDim.x); __syncthreads();
  cuda::memcpy_async(s + threadIdx.x, x + threadIdx.x, 4, bar); bar.arrive_and_wait(); x[threadIdx.x] = s[255 - threadIdx.x]; }""",
    "complex": """
template<class T> __global__ void f(cuda::std::complex<T>* x) { auto v = x[threadIdx.x]; x[threadIdx.x] = v * v / (v + T(1)) + cuda::std::exp(v) + cuda::std::sqrt(v); }
template __global__ void f(cuda::std::complex<float>*); template __global__ void f(cuda::std::complex<double>*);""",
    "narrow": """
__global__ void f(__nv_fp8_e4m3* a, __nv_fp8_e5m2* b, __half* h, __nv_bfloat16* w, float* x) { int i = threadIdx.x;
  float v = float(a[i]) + float(b[i]) + __half2float(h[i]) + __bfloat162float(w[i]); a[i] = __nv_fp8_e4m3(v); b[i] = __nv_fp8_e5m2(v); h[i] = hexp(h[i]) * hsqrt(h[i]); w[i] = hlog2(w[i]) + hsin(w[i]);
  x[i] = v; reinterpret_cast<__half2*>(h)[i] = __hfma2_relu(reinterpret_cast<__half2*>(h)[i], reinterpret_cast<__half2*>(h)[0], reinterpret_cast<__half2*>(h)[1]);
  atomicAdd(reinterpret_cast<__half2*>(h), reinterpret_cast<__half2*>(h)[3]); atomicAdd(w, w[3]); }""",
}
