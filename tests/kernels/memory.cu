// Loads and stores of every width, vector and cache hint.
typedef unsigned long long u64;

#define COPY(name, type) \
    extern "C" __global__ void copy_##name(const type* in, type* out, unsigned n) \
    { \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < n) \
            out[i] = in[i]; \
    }
COPY(u8, unsigned char)
COPY(u16, unsigned short)
COPY(u32, unsigned)
COPY(u64, u64)
COPY(uchar2, uchar2)
COPY(uchar4, uchar4)
COPY(ushort2, ushort2)
COPY(ushort4, ushort4)
COPY(uint2, uint2)
COPY(uint4, uint4)
COPY(ulonglong2, ulonglong2)
COPY(float4, float4)
COPY(double2, double2)

// Narrow loads extended, wide values narrowed: out[k * n + i]. 8 results
extern "C" __global__ void extend(const unsigned char* in, long long* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const signed char* bytes = (const signed char*)in;
    const short* halves = (const short*)in;
    const int* words = (const int*)in;
    out[i] = bytes[i];
    out[n + i] = in[i];
    out[2 * n + i] = halves[i];
    out[3 * n + i] = ((const unsigned short*)in)[i];
    out[4 * n + i] = words[i];
    out[5 * n + i] = ((const unsigned*)in)[i];
    out[6 * n + i] = 0;
    ((unsigned char*)(out + 6 * n + i))[3] = (unsigned char)words[i];
    out[7 * n + i] = 0;
    ((unsigned short*)(out + 7 * n + i))[1] = (unsigned short)words[i];
}

// The cache operators, volatile and read-only loads: all copy. out[k * n + i], 10 results
extern "C" __global__ void hints(const unsigned* in, unsigned* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i] = __ldg(in + i);
    out[n + i] = __ldca(in + i);
    out[2 * n + i] = __ldcg(in + i);
    out[3 * n + i] = __ldcs(in + i);
    out[4 * n + i] = __ldlu(in + i);
    out[5 * n + i] = __ldcv(in + i);
    __stwb(out + 6 * n + i, in[i]);
    __stcg(out + 7 * n + i, in[i]);
    __stcs(out + 8 * n + i, in[i]);
    *(volatile unsigned*)(out + 9 * n + i) = *(const volatile unsigned*)(in + i);
}

// Copies bytes from and to any address.
extern "C" __global__ void copy_bytes(const unsigned char* in, unsigned char* out, unsigned bytes)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += gridDim.x * blockDim.x)
        out[i] = in[i];
}

struct Element { unsigned char tag; float3 position; double mass; short charge[3]; };

// Structs in memory, field by field and whole.
extern "C" __global__ void move_elements(const Element* in, Element* out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Element e = in[i];
    e.position.x += 1.0f;
    e.mass *= 2.0;
    e.charge[e.tag % 3] = (short)-e.charge[e.tag % 3];
    out[n - 1 - i] = e;
}

// A list linked by device addresses: out = sum of the values of its nodes.
struct Node { unsigned value; const Node* next; };
extern "C" __global__ void walk_list(const Node* head, unsigned* out)
{
    unsigned sum = 0;
    for (const Node* node = head; node != nullptr; node = node->next)
        sum += node->value;
    *out = sum;
}

// out[i] = rows[i % n][i / n]: pointers to buffers in a buffer
extern "C" __global__ void gather_rows(float* const* rows, unsigned n, unsigned length, float* out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * length)
        out[i] = rows[i % n][i / n];
}
