/* Copies and fills of rows, planes, arrays and lists, as cuda.h declares them. */
enum { HOST = 1, DEVICE = 2, ARRAY = 3, UNIFIED = 4 };

/* CUDA_MEMCPY2D */
typedef struct {
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    ptr src_device;
    handle src_array;
    size_t src_pitch, dst_x, dst_y;
    int dst_type;
    void *dst_host;
    ptr dst_device;
    handle dst_array;
    size_t dst_pitch, width, height;
} rows;

/* CUDA_MEMCPY3D; and CUDA_MEMCPY3D_PEER, which has contexts where that has nothing. */
typedef struct {
    size_t src_x, src_y, src_z, src_lod;
    int src_type;
    const void *src_host;
    ptr src_device;
    handle src_array, src_context;
    size_t src_pitch, src_height, dst_x, dst_y, dst_z, dst_lod;
    int dst_type;
    void *dst_host;
    ptr dst_device;
    handle dst_array, dst_context;
    size_t dst_pitch, dst_height, width, height, depth;
} planes;

/* CUDA_ARRAY_DESCRIPTOR, and CUDA_ARRAY3D_DESCRIPTOR */
typedef struct {
    size_t width, height;
    int format;
    u32 channels;
} array_of_rows;
typedef struct {
    size_t width, height, depth;
    int format;
    u32 channels, flags;
} array_of_planes;
enum { BYTES = 1, FLOATS = 0x20 };

/* CUmemcpyAttributes: in the order of the stream. */
typedef struct {
    int order, source_type, source, target_type, target;
    u32 flags;
} attributes;

/* CUDA_MEMCPY3D_BATCH_OP. A pointer has elements of a row and rows of a plane, an array an offset in three dimensions. */
enum { POINTER = 1, OF_ARRAY = 2 };
typedef struct {
    int type;
    ptr place;
    size_t a, b, c;
} operand;
typedef struct {
    operand src, dst;
    size_t width, height, depth;
    int order;
    u32 flags;
} operation;

_Static_assert(sizeof(rows) == 128 && sizeof(planes) == 200, "as in cuda.h");
_Static_assert(sizeof(operation) == 112 && sizeof(attributes) == 24, "as in cuda.h");

int cuArrayCreate_v2(handle *, const array_of_rows *);
int cuArray3DCreate_v2(handle *, const array_of_planes *);
int cuArrayDestroy(handle);
int cuMemcpy2D_v2(const rows *);
int cuMemcpy2DUnaligned_v2(const rows *);
int cuMemcpy2DAsync_v2(const rows *, handle);
int cuMemcpy2D_v2_ptds(const rows *);
int cuMemcpy3D_v2(const planes *);
int cuMemcpy3DPeer(const planes *);
int cuMemcpyPeerAsync(ptr, handle, ptr, handle, size_t, handle);
int cuMemcpyPeer(ptr, handle, ptr, handle, size_t);
int cuMemcpyHtoA_v2(handle, size_t, const void *, size_t);
int cuMemcpyAtoD_v2(ptr, handle, size_t, size_t);
int cuMemcpyAtoH_v2(void *, handle, size_t, size_t);
int cuMemsetD2D16_v2(ptr, size_t, unsigned short, size_t, size_t);
int cuMemsetD2D8Async(ptr, size_t, unsigned char, size_t, size_t, handle);
int cuMemcpyBatchAsync_v2(ptr *, ptr *, size_t *, size_t, attributes *, size_t *, size_t, handle);
int cuMemcpy3DBatchAsync_v2(size_t, operation *, unsigned long long, handle);

/* The answer of a call that may be refused. */
static void any(int answer) {
    const char *name;
    cuGetErrorName(answer, &name);
}
