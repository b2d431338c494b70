// Kernels for clang, which needs no header of CUDA's for them.
#define GLOBAL __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define CONSTANT __attribute__((constant))
typedef unsigned long long u64;
DEVICE inline int thread() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE inline int index() { return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + thread(); }

struct Pair {
    float first;
    double second;
    short last[3];
};
CONSTANT int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
DEVICE float kept = 1.5f;

template <class T> DEVICE T squared(T x) { return x * x; }
template <class T> GLOBAL void saxpy(T *y, const T *x, T a, int n) {
    int i = index();
    if (i < n) y[i] += a * squared(x[i]);
}
template GLOBAL void saxpy(float *, const float *, float, int);
template GLOBAL void saxpy(double *, const double *, double, int);
template GLOBAL void saxpy(int *, const int *, int, int);
template GLOBAL void saxpy(long long *, const long long *, long long, int);
template GLOBAL void saxpy(short *, const short *, short, int);
template GLOBAL void saxpy(unsigned char *, const unsigned char *, unsigned char, int);

GLOBAL void structures(Pair *to, Pair from) {
    Pair other = from;
    other.last[thread() % 3] += (short)other.first;
    to[index()] = other;
}
GLOBAL void switches(int *to, int n) {
    int v = to[index()];
    for (int i = 0; i < n; i++) {
        switch (v & 15) {
        case 0: v += 3; break;
        case 1: v *= 5; break;
        case 2: v = -v; break;
        case 3: v ^= 0x55; break;
        case 4: v >>= 1; break;
        case 5: v <<= 2; break;
        case 6: v = table[v & 7]; break;
        case 7: v %= 11; break;
        case 8: v /= 3; break;
        default: v -= i; break;
        }
    }
    to[index()] = v;
}
GLOBAL void sums(float *to, const float *from) {
    SHARED float shared[256];
    int t = thread();
    shared[t] = from[index()];
    for (int step = 128; step; step >>= 1) {
        __nvvm_bar_sync(0);
        if (t < step) shared[t] += shared[t + step];
    }
    if (!t) __nvvm_atom_add_gen_f(to, shared[0] + kept);
}
GLOBAL void conversions(double *d, float *f, long long *l, unsigned *u, signed char *c) {
    int i = index();
    d[i] = f[i] + l[i] + u[i] + c[i];
    l[i] = (long long)d[i];
    u[i] = (unsigned)f[i];
    c[i] = (signed char)(int)d[i];
}
GLOBAL void locals(int *to, int n) {
    int array[32];
    for (int i = 0; i < 32; i++) array[i] = to[i];
    for (int i = 0; i < n; i++) array[array[i & 31] & 31] += i;
    to[index()] = array[n & 31];
}
DEVICE __attribute__((noinline)) int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
GLOBAL void recursion(int *to) { to[index()] = fibonacci(to[index()]); }
GLOBAL void atomics(int *to, u64 *wide) {
    __nvvm_atom_max_gen_i(to, index());
    __nvvm_atom_cas_gen_i(to + 1, 0, thread());
    __nvvm_atom_xchg_gen_i(to + 2, 7);
    __nvvm_atom_add_gen_ll((long long *)wide, 3);
    __nvvm_membar_gl();
}
GLOBAL void bits(unsigned *to, u64 *wide) {
    int i = index();
    to[i] = __builtin_popcount(to[i]) + __builtin_clz(to[i] | 1) + __builtin_bswap32(to[i]) + (to[i] << 7 | to[i] >> 25);
    wide[i] = __builtin_popcountll(wide[i]) + __builtin_ctzll(wide[i] | 1) + (wide[i] * 0x9e3779b97f4a7c15ull >> 64 - 7);
}
GLOBAL void wide_products(unsigned __int128 *to) {
    int i = index();
    to[i] = to[i] * to[i + 1] + (to[i] >> 17);
}
