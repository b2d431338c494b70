// A texture over pitched memory and a surface over an array; occupancy chooses the block; `printf` in a kernel.
#include "common.h"

__global__ void blur(cudaTextureObject_t from, cudaSurfaceObject_t to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x == 0 && y == 0) printf("first of %d x %d\n", width, height);
    if (x >= width || y >= height) return;
    float around = tex2D<float>(from, x - 0.5f, y + 0.5f) + tex2D<float>(from, x + 1.5f, y + 0.5f);
    surf2Dwrite(around * 0.5f, to, x * int(sizeof(float)), y);
}

int main() {
    constexpr int WIDTH = 300, HEIGHT = 40;
    static float host[HEIGHT][WIDTH], result[HEIGHT][WIDTH];
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) host[y][x] = float((x * 3 + y) % 64);
    float *rows;
    size_t pitch;
    CHECK(cudaMallocPitch(&rows, &pitch, WIDTH * sizeof(float), HEIGHT));
    CHECK(cudaMemcpy2D(rows, pitch, host, sizeof host[0], sizeof host[0], HEIGHT, cudaMemcpyHostToDevice));
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    cudaResourceDesc of_rows = {}, of_array = {};
    of_rows.resType = cudaResourceTypePitch2D;
    of_rows.res.pitch2D.devPtr = rows;
    of_rows.res.pitch2D.desc = format;
    of_rows.res.pitch2D.width = WIDTH;
    of_rows.res.pitch2D.height = HEIGHT;
    of_rows.res.pitch2D.pitchInBytes = pitch;
    of_array.resType = cudaResourceTypeArray;
    of_array.res.array.array = array;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateTextureObject(&texture, &of_rows, &how, nullptr));
    CHECK(cudaCreateSurfaceObject(&surface, &of_array));
    int grid, block;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, blur));
    blur<<<dim3((WIDTH + block - 1) / block, HEIGHT), block>>>(texture, surface, WIDTH, HEIGHT);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy2DFromArray(result, sizeof result[0], array, 0, 0, sizeof result[0], HEIGHT,
                                cudaMemcpyDeviceToHost));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            float left = host[y][x ? x - 1 : 0], right = host[y][x + 1 < WIDTH ? x + 1 : x];
            expect(result[y][x] == (left + right) * 0.5f, "a point");
        }
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroySurfaceObject(surface));
#ifndef WRONG
    CHECK(cudaFreeArray(array));
#endif
    CHECK(cudaFree(rows));
}
