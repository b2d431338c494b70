"""cuda.bindings: the driver API, NVRTC, nvJitLink and NVML, as a program uses them. Its own tests are on no package registry."""

import ctypes

import numpy as np
import pytest
from cuda.bindings import driver, nvjitlink, nvml, nvrtc

SOURCE = b"""
extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__device__ float scale = 2;
extern "C" __global__ void scaled(float *y) { y[threadIdx.x] *= scale; }
"""


def ok(answer):
    assert answer[0].value == 0, answer[0]
    return answer[1] if len(answer) == 2 else answer[1:]


@pytest.fixture(scope="module")
def context():
    ok(driver.cuInit(0))
    device = ok(driver.cuDeviceGet(0))
    context = ok(driver.cuDevicePrimaryCtxRetain(device))
    ok(driver.cuCtxSetCurrent(context))
    yield device
    ok(driver.cuDevicePrimaryCtxRelease(device))


def compiled(option, get, size):
    program = ok(nvrtc.nvrtcCreateProgram(SOURCE, b"a.cu", 0, [], []))
    ok(nvrtc.nvrtcCompileProgram(program, 1, [option]))
    image = b" " * ok(size(program))
    ok(get(program, image))
    ok(nvrtc.nvrtcDestroyProgram(program))
    return image


def cubin():
    return compiled(b"--gpu-architecture=sm_90", nvrtc.nvrtcGetCUBIN, nvrtc.nvrtcGetCUBINSize)


def ptx():
    return compiled(b"--gpu-architecture=compute_90", nvrtc.nvrtcGetPTX, nvrtc.nvrtcGetPTXSize)


def saxpy(module, stream=0):
    function = ok(driver.cuModuleGetFunction(module, b"saxpy"))
    n = 1000
    x, y = np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)
    on_device = [ok(driver.cuMemAlloc(x.nbytes)) for _ in range(2)]
    for memory, host in zip(on_device, (x, y)):
        ok(driver.cuMemcpyHtoDAsync(memory, host, host.nbytes, stream))
    values = (np.float32(3), int(on_device[0]), int(on_device[1]), n)
    types = (ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    ok(driver.cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, (values, types), 0))
    result = np.empty_like(y)
    ok(driver.cuMemcpyDtoHAsync(result, on_device[1], result.nbytes, stream))
    ok(driver.cuStreamSynchronize(stream))
    for memory in on_device:
        ok(driver.cuMemFree(memory))
    assert np.array_equal(result, 3 * x + y)


@pytest.mark.parametrize("image", [cubin, ptx])
def test_a_kernel_of_nvrtc(context, image):
    module = ok(driver.cuModuleLoadData(image()))
    saxpy(module)
    ok(driver.cuModuleUnload(module))


def test_a_library(context):
    library = ok(driver.cuLibraryLoadData(ptx(), [], [], 0, [], [], 0))
    kernel = ok(driver.cuLibraryGetKernel(library, b"scaled"))
    memory = ok(driver.cuMemAlloc(16))
    ok(driver.cuMemsetD32(memory, 0x3F800000, 4))
    ok(driver.cuLaunchKernel(driver.CUfunction(int(kernel)), 1, 1, 1, 4, 1, 1, 0, 0, ((int(memory),), (ctypes.c_void_p,)), 0))
    result = np.empty(4, dtype=np.float32)
    ok(driver.cuMemcpyDtoH(result, memory, 16))
    assert (result == 2).all()
    ok(driver.cuMemFree(memory))
    ok(driver.cuLibraryUnload(library))


def test_a_variable_of_a_module(context):
    module = ok(driver.cuModuleLoadData(ptx()))
    address, size = ok(driver.cuModuleGetGlobal(module, b"scale"))
    assert size == 4
    value = np.zeros(1, dtype=np.float32)
    ok(driver.cuMemcpyDtoH(value, address, 4))
    assert value[0] == 2
    ok(driver.cuModuleUnload(module))


def test_streams_and_events(context):
    stream = ok(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
    before, after = ok(driver.cuEventCreate(0)), ok(driver.cuEventCreate(0))
    module = ok(driver.cuModuleLoadData(ptx()))
    ok(driver.cuEventRecord(before, stream))
    saxpy(module, stream)
    ok(driver.cuEventRecord(after, stream))
    ok(driver.cuEventSynchronize(after))
    assert ok(driver.cuEventElapsedTime(before, after)) >= 0
    for event in (before, after):
        ok(driver.cuEventDestroy(event))
    ok(driver.cuStreamDestroy(stream))
    ok(driver.cuModuleUnload(module))


def test_a_captured_graph(context):
    stream = ok(driver.cuStreamCreate(0))
    memory = ok(driver.cuMemAlloc(64))
    ok(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
    ok(driver.cuMemsetD8Async(memory, 7, 64, stream))
    graph = ok(driver.cuStreamEndCapture(stream))
    assert ok(driver.cuGraphGetNodes(graph, 1))[1] == 1
    executable = ok(driver.cuGraphInstantiate(graph, 0))
    ok(driver.cuGraphLaunch(executable, stream))
    ok(driver.cuStreamSynchronize(stream))
    result = np.zeros(64, dtype=np.uint8)
    ok(driver.cuMemcpyDtoH(result, memory, 64))
    assert (result == 7).all()
    ok(driver.cuGraphExecDestroy(executable))
    ok(driver.cuGraphDestroy(graph))
    ok(driver.cuMemFree(memory))
    ok(driver.cuStreamDestroy(stream))


def test_a_memory_pool(context):
    stream = ok(driver.cuStreamCreate(0))
    pool = ok(driver.cuDeviceGetDefaultMemPool(context))
    memory = ok(driver.cuMemAllocFromPoolAsync(256, pool, stream))
    ok(driver.cuMemsetD8Async(memory, 1, 256, stream))
    ok(driver.cuMemFreeAsync(memory, stream))
    ok(driver.cuStreamSynchronize(stream))
    used = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
    assert int(ok(driver.cuMemPoolGetAttribute(pool, used))) == 0
    ok(driver.cuStreamDestroy(stream))


def test_managed_memory(context):
    memory = ok(driver.cuMemAllocManaged(64, driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL.value))
    ok(driver.cuMemsetD8(memory, 9, 64))
    ok(driver.cuCtxSynchronize())
    assert bytes((ctypes.c_ubyte * 64).from_address(int(memory))) == bytes([9] * 64)
    ok(driver.cuMemFree(memory))


def test_virtual_memory(context):
    location = driver.CUmemLocation()
    location.type, location.id = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, 0
    properties = driver.CUmemAllocationProp()
    properties.type, properties.location = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED, location
    least = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    size = ok(driver.cuMemGetAllocationGranularity(properties, least))
    handle = ok(driver.cuMemCreate(size, properties, 0))
    address = ok(driver.cuMemAddressReserve(size, 0, 0, 0))
    ok(driver.cuMemMap(address, size, 0, handle, 0))
    access = driver.CUmemAccessDesc()
    access.location, access.flags = location, driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    ok(driver.cuMemSetAccess(address, size, [access], 1))
    ok(driver.cuMemsetD32(address, 5, size // 4))
    result = np.empty(size // 4, dtype=np.uint32)
    ok(driver.cuMemcpyDtoH(result, address, size))
    assert (result == 5).all()
    ok(driver.cuMemUnmap(address, size))
    ok(driver.cuMemAddressFree(address, size))
    ok(driver.cuMemRelease(handle))


def test_an_array(context):
    descriptor = driver.CUDA_ARRAY_DESCRIPTOR()
    descriptor.Format, descriptor.NumChannels = driver.CUarray_format.CU_AD_FORMAT_FLOAT, 1
    descriptor.Width = 16
    array = ok(driver.cuArrayCreate(descriptor))
    host, back = np.arange(16, dtype=np.float32), np.zeros(16, dtype=np.float32)
    ok(driver.cuMemcpyHtoA(array, 0, host, host.nbytes))
    ok(driver.cuMemcpyAtoH(back, array, 0, back.nbytes))
    assert np.array_equal(host, back)
    ok(driver.cuArrayDestroy(array))


def test_wrong_values_are_refused(context):
    assert driver.cuDeviceGet(99)[0] == driver.CUresult.CUDA_ERROR_INVALID_DEVICE
    assert driver.cuMemAlloc(0)[0] == driver.CUresult.CUDA_ERROR_INVALID_VALUE
    assert driver.cuModuleLoadData(b"nothing\0")[0] == driver.CUresult.CUDA_ERROR_INVALID_IMAGE
    module = ok(driver.cuModuleLoadData(ptx()))
    assert driver.cuModuleGetFunction(module, b"other")[0] == driver.CUresult.CUDA_ERROR_NOT_FOUND
    ok(driver.cuModuleUnload(module))
    error, text = driver.cuGetErrorString(driver.CUresult.CUDA_ERROR_INVALID_DEVICE)
    assert error.value == 0 and text == b"invalid device ordinal"


def test_attributes(context):
    attribute = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    assert ok(driver.cuDeviceGetAttribute(attribute, context)) == 9
    assert ok(driver.cuDriverGetVersion()) >= 13000
    assert ok(driver.cuDeviceTotalMem(context)) > 0


def test_the_driver_links_ptx(context):
    state = ok(driver.cuLinkCreate(0, [], []))
    image = ptx()
    ok(driver.cuLinkAddData(state, driver.CUjitInputType.CU_JIT_INPUT_PTX, image, len(image), b"a", 0, [], []))
    linked, size = ok(driver.cuLinkComplete(state))
    assert size > 0
    module = ok(driver.cuModuleLoadData(linked))
    saxpy(module)
    ok(driver.cuModuleUnload(module))
    ok(driver.cuLinkDestroy(state))


def test_nvjitlink_links_ptx(context):
    handle = nvjitlink.create(1, ["-arch=sm_90"])
    image = ptx()
    nvjitlink.add_data(handle, nvjitlink.InputType.PTX, image, len(image), "a")
    nvjitlink.complete(handle)
    linked = bytearray(nvjitlink.get_linked_cubin_size(handle))
    nvjitlink.get_linked_cubin(handle, linked)
    nvjitlink.destroy(handle)
    module = ok(driver.cuModuleLoadData(bytes(linked)))
    saxpy(module)
    ok(driver.cuModuleUnload(module))


def test_nvml():
    nvml.init_v2()
    assert nvml.device_get_count_v2() >= 1
    device = nvml.device_get_handle_by_index_v2(0)
    assert nvml.device_get_name(device)
    assert nvml.device_get_memory_info_v2(device).total > 0
    nvml.shutdown()


def test_the_runtime():
    from cuda.bindings import runtime

    assert ok(runtime.cudaGetDeviceCount()) >= 1
