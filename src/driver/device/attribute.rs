//! The keys of a device's attributes.

use cuda_driver_sys::CUdevice_attribute;

use crate::open_number::open_number;

open_number! {
    /// An attribute of a device: the key of [`CudaDevice::attribute`](crate::CudaDevice::attribute).
    ///
    /// The names are the driver's without their prefix. It is non-exhaustive: a number newer than CUDA 13.5 can be made
    /// with [`from_raw`](Self::from_raw). It prints as the driver's name, or as the number if there is none.
    ///
    /// ```
    /// use cuda_launch::device::DeviceAttribute;
    /// use cuda_launch::CudaDevice;
    /// let device = CudaDevice::new(0)?;
    /// assert_eq!(device.attribute(DeviceAttribute::WARP_SIZE)?, 32);
    /// assert_eq!(DeviceAttribute::WARP_SIZE.to_string(), "CU_DEVICE_ATTRIBUTE_WARP_SIZE");
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[doc(alias = "CUdevice_attribute")]
    pub struct DeviceAttribute(CUdevice_attribute);

    /// Maximum threads in a block.
    MAX_THREADS_PER_BLOCK = CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    /// Maximum threads along x in a block.
    MAX_BLOCK_DIM_X = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X;
    /// Maximum threads along y in a block.
    MAX_BLOCK_DIM_Y = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y;
    /// Maximum threads along z in a block.
    MAX_BLOCK_DIM_Z = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z;
    /// Maximum blocks along x in a grid.
    MAX_GRID_DIM_X = CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X;
    /// Maximum blocks along y in a grid.
    MAX_GRID_DIM_Y = CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y;
    /// Maximum blocks along z in a grid.
    MAX_GRID_DIM_Z = CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z;
    /// Bytes of shared memory that a block gets without opting in.
    MAX_SHARED_MEMORY_PER_BLOCK = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK;
    /// Bytes of constant memory available to a kernel.
    TOTAL_CONSTANT_MEMORY = CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY;
    /// Threads per warp.
    WARP_SIZE = CU_DEVICE_ATTRIBUTE_WARP_SIZE;
    /// Maximum pitch of a 2D copy, in bytes.
    MAX_PITCH = CU_DEVICE_ATTRIBUTE_MAX_PITCH;
    /// Maximum 32-bit registers per block.
    MAX_REGISTERS_PER_BLOCK = CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK;
    /// Peak clock rate in kHz.
    CLOCK_RATE = CU_DEVICE_ATTRIBUTE_CLOCK_RATE;
    /// Required alignment of a texture's base address, in bytes.
    TEXTURE_ALIGNMENT = CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT;
    /// 1 if copies and kernels can run at the same time; see `ASYNC_ENGINE_COUNT`.
    GPU_OVERLAP = CU_DEVICE_ATTRIBUTE_GPU_OVERLAP;
    /// The number of multiprocessors.
    MULTIPROCESSOR_COUNT = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    /// 1 if there is a run-time limit for kernels.
    KERNEL_EXEC_TIMEOUT = CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT;
    /// 1 if the device shares the host's memory.
    INTEGRATED = CU_DEVICE_ATTRIBUTE_INTEGRATED;
    /// 1 if host memory can be mapped for kernels.
    CAN_MAP_HOST_MEMORY = CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY;
    /// The compute mode, which says who may create contexts: a `CUcomputemode`.
    COMPUTE_MODE = CU_DEVICE_ATTRIBUTE_COMPUTE_MODE;
    /// Width of a 1D texture.
    MAXIMUM_TEXTURE1D_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH;
    /// Width of a 2D texture.
    MAXIMUM_TEXTURE2D_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH;
    /// Height of a 2D texture.
    MAXIMUM_TEXTURE2D_HEIGHT = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT;
    /// Width of a 3D texture.
    MAXIMUM_TEXTURE3D_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH;
    /// Height of a 3D texture.
    MAXIMUM_TEXTURE3D_HEIGHT = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT;
    /// Depth of a 3D texture.
    MAXIMUM_TEXTURE3D_DEPTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH;
    /// Width of a layered 2D texture.
    MAXIMUM_TEXTURE2D_LAYERED_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH;
    /// Height of a layered 2D texture.
    MAXIMUM_TEXTURE2D_LAYERED_HEIGHT = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT;
    /// Layers of a layered 2D texture.
    MAXIMUM_TEXTURE2D_LAYERED_LAYERS = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS;
    /// Required alignment of a surface's base address, in bytes.
    SURFACE_ALIGNMENT = CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT;
    /// 1 if several kernels of one context can run at the same time.
    CONCURRENT_KERNELS = CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS;
    /// 1 if error-correcting code (ECC) is enabled.
    ECC_ENABLED = CU_DEVICE_ATTRIBUTE_ECC_ENABLED;
    /// Number of the PCI bus.
    PCI_BUS_ID = CU_DEVICE_ATTRIBUTE_PCI_BUS_ID;
    /// Number of the device (slot) on that bus.
    PCI_DEVICE_ID = CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID;
    /// 1 if the device uses the TCC driver model (Windows).
    TCC_DRIVER = CU_DEVICE_ATTRIBUTE_TCC_DRIVER;
    /// Peak memory clock rate in kHz.
    MEMORY_CLOCK_RATE = CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE;
    /// Width of the memory bus in bits.
    GLOBAL_MEMORY_BUS_WIDTH = CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH;
    /// Bytes of the L2 cache.
    L2_CACHE_SIZE = CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
    /// Maximum resident threads per multiprocessor.
    MAX_THREADS_PER_MULTIPROCESSOR = CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
    /// Copies that can run concurrently with kernels.
    ASYNC_ENGINE_COUNT = CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT;
    /// 1 if host and devices share one address space.
    UNIFIED_ADDRESSING = CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING;
    /// Width of a layered 1D texture.
    MAXIMUM_TEXTURE1D_LAYERED_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH;
    /// Layers of a layered 1D texture.
    MAXIMUM_TEXTURE1D_LAYERED_LAYERS = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS;
    /// Deprecated by the driver: do not use.
    CAN_TEX2D_GATHER = CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER;
    /// Width of a 2D texture for gathers.
    MAXIMUM_TEXTURE2D_GATHER_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH;
    /// Height of a 2D texture for gathers.
    MAXIMUM_TEXTURE2D_GATHER_HEIGHT = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT;
    /// Alternate width of a 3D texture.
    MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE;
    /// Alternate height of a 3D texture.
    MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE;
    /// Alternate depth of a 3D texture.
    MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE;
    /// Number of the PCI domain.
    PCI_DOMAIN_ID = CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID;
    /// Required alignment of the row pitch of a texture in linear memory, in bytes.
    TEXTURE_PITCH_ALIGNMENT = CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT;
    /// Width and height of a cubemap texture.
    MAXIMUM_TEXTURECUBEMAP_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH;
    /// Width and height of a layered cubemap texture.
    MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH;
    /// Layers of a layered cubemap texture.
    MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS;
    /// Width of a 1D surface.
    MAXIMUM_SURFACE1D_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH;
    /// Width of a 2D surface.
    MAXIMUM_SURFACE2D_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH;
    /// Height of a 2D surface.
    MAXIMUM_SURFACE2D_HEIGHT = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT;
    /// Width of a 3D surface.
    MAXIMUM_SURFACE3D_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH;
    /// Height of a 3D surface.
    MAXIMUM_SURFACE3D_HEIGHT = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT;
    /// Depth of a 3D surface.
    MAXIMUM_SURFACE3D_DEPTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH;
    /// Width of a layered 1D surface.
    MAXIMUM_SURFACE1D_LAYERED_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH;
    /// Layers of a layered 1D surface.
    MAXIMUM_SURFACE1D_LAYERED_LAYERS = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS;
    /// Width of a layered 2D surface.
    MAXIMUM_SURFACE2D_LAYERED_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH;
    /// Height of a layered 2D surface.
    MAXIMUM_SURFACE2D_LAYERED_HEIGHT = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT;
    /// Layers of a layered 2D surface.
    MAXIMUM_SURFACE2D_LAYERED_LAYERS = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS;
    /// Width of a cubemap surface.
    MAXIMUM_SURFACECUBEMAP_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH;
    /// Width of a layered cubemap surface.
    MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH;
    /// Layers of a layered cubemap surface.
    MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS = CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS;
    /// Deprecated by the driver: use `cuDeviceGetTexture1DLinearMaxWidth`, which depends on the format.
    MAXIMUM_TEXTURE1D_LINEAR_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH;
    /// Width of a 2D texture in linear memory.
    MAXIMUM_TEXTURE2D_LINEAR_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH;
    /// Height of a 2D texture in linear memory.
    MAXIMUM_TEXTURE2D_LINEAR_HEIGHT = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT;
    /// Row pitch in bytes of a 2D texture in linear memory.
    MAXIMUM_TEXTURE2D_LINEAR_PITCH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH;
    /// Width of a mipmapped 2D texture.
    MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH;
    /// Height of a mipmapped 2D texture.
    MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT;
    /// Major number of the compute capability.
    COMPUTE_CAPABILITY_MAJOR = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    /// Minor number of the compute capability.
    COMPUTE_CAPABILITY_MINOR = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
    /// Width of a mipmapped 1D texture.
    MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH = CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH;
    /// 1 if streams can have priorities.
    STREAM_PRIORITIES_SUPPORTED = CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED;
    /// 1 if global memory is cached in L1.
    GLOBAL_L1_CACHE_SUPPORTED = CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED;
    /// 1 if local memory is cached in L1.
    LOCAL_L1_CACHE_SUPPORTED = CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED;
    /// Bytes of shared memory per multiprocessor.
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR;
    /// 32-bit registers per multiprocessor.
    MAX_REGISTERS_PER_MULTIPROCESSOR = CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR;
    /// 1 if managed memory can be allocated.
    MANAGED_MEMORY = CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY;
    /// 1 if the device shares a board with others.
    MULTI_GPU_BOARD = CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD;
    /// Number of that board, the same for its devices.
    MULTI_GPU_BOARD_GROUP_ID = CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID;
    /// 1 if the link to the host supports native atomics.
    HOST_NATIVE_ATOMIC_SUPPORTED = CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED;
    /// Ratio of single-precision to double-precision throughput.
    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO;
    /// 1 if kernels can access pageable host memory that is not registered.
    PAGEABLE_MEMORY_ACCESS = CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;
    /// 1 if host and device can access managed memory at the same time.
    CONCURRENT_MANAGED_ACCESS = CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
    /// 1 if kernels can be preempted.
    COMPUTE_PREEMPTION_SUPPORTED = CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED;
    /// 1 if registered host memory has the same address for kernels.
    CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM;
    /// Deprecated by the driver with the first stream memory operations.
    CAN_USE_STREAM_MEM_OPS_V1 = CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1;
    /// Deprecated by the driver with the first stream memory operations.
    CAN_USE_64_BIT_STREAM_MEM_OPS_V1 = CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1;
    /// Deprecated by the driver with the first stream memory operations.
    CAN_USE_STREAM_WAIT_VALUE_NOR_V1 = CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1;
    /// 1 if cooperative launches are supported.
    COOPERATIVE_LAUNCH = CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH;
    /// Deprecated by the driver.
    COOPERATIVE_MULTI_DEVICE_LAUNCH = CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH;
    /// Bytes of shared memory that a block can opt in to.
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    /// 1 if `CU_STREAM_WAIT_VALUE_FLUSH` and writes with memory barriers are supported.
    CAN_FLUSH_REMOTE_WRITES = CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES;
    /// 1 if host memory can be registered.
    HOST_REGISTER_SUPPORTED = CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED;
    /// 1 if pageable host memory is accessed through the host's page tables.
    PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES;
    /// 1 if the host can access managed memory on the device without migration.
    DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST;
    /// 1 if address ranges and physical memory can be managed separately (`cuMemAddressReserve`, `cuMemCreate`,
    /// `cuMemMap`).
    VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    /// 1 if memory can be exported as a file descriptor.
    HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
    /// 1 if memory can be exported as a Win32 NT handle.
    HANDLE_TYPE_WIN32_HANDLE_SUPPORTED = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED;
    /// 1 if memory can be exported as a Win32 KMT handle.
    HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED;
    /// Maximum resident blocks per multiprocessor.
    MAX_BLOCKS_PER_MULTIPROCESSOR = CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR;
    /// 1 if memory can be compressed.
    GENERIC_COMPRESSION_SUPPORTED = CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED;
    /// Bytes of the L2 cache that can be set aside for persisting data.
    MAX_PERSISTING_L2_CACHE_SIZE = CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE;
    /// Bytes of the largest access policy window.
    MAX_ACCESS_POLICY_WINDOW_SIZE = CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE;
    /// 1 if other devices can access memory of `cuMemCreate` by RDMA.
    GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED;
    /// Bytes of shared memory per block that the driver reserves.
    RESERVED_SHARED_MEMORY_PER_BLOCK = CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK;
    /// 1 if arrays can be sparse.
    SPARSE_CUDA_ARRAY_SUPPORTED = CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED;
    /// 1 if host memory can be registered for reading only.
    READ_ONLY_HOST_REGISTER_SUPPORTED = CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED;
    /// 1 if timeline semaphores of other APIs can be imported.
    TIMELINE_SEMAPHORE_INTEROP_SUPPORTED = CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED;
    /// 1 if memory can be allocated in stream order.
    MEMORY_POOLS_SUPPORTED = CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
    /// 1 if other devices can access memory by RDMA.
    GPU_DIRECT_RDMA_SUPPORTED = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED;
    /// How such writes can be flushed: bits of `CUflushGPUDirectRDMAWritesOptions`.
    GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS;
    /// Where such writes are visible without a flush: a `CUGPUDirectRDMAWritesOrdering`.
    GPU_DIRECT_RDMA_WRITES_ORDERING = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING;
    /// How pools can be shared: bits of `CUmemAllocationHandleType`.
    MEMPOOL_SUPPORTED_HANDLE_TYPES = CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES;
    /// 1 if cluster launches are supported.
    CLUSTER_LAUNCH = CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH;
    /// 1 if arrays with deferred mapping are supported.
    DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED = CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED;
    /// 1 if stream memory operations of 64 bits are supported.
    CAN_USE_64_BIT_STREAM_MEM_OPS = CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS;
    /// 1 if `CU_STREAM_WAIT_VALUE_NOR` is supported.
    CAN_USE_STREAM_WAIT_VALUE_NOR = CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR;
    /// 1 if memory can be exported as a dma-buf.
    DMA_BUF_SUPPORTED = CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED;
    /// 1 if events can be shared between processes.
    IPC_EVENT_SUPPORTED = CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED;
    /// Memory synchronisation domains.
    MEM_SYNC_DOMAIN_COUNT = CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT;
    /// 1 if kernels can access memory by a tensor map.
    TENSOR_MAP_ACCESS_SUPPORTED = CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED;
    /// 1 if memory can be exported as a fabric handle.
    HANDLE_TYPE_FABRIC_SUPPORTED = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED;
    /// 1 if function pointers are the same on all such devices.
    UNIFIED_FUNCTION_POINTERS = CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS;
    /// Whether the device's memory is a NUMA node: a `CUdeviceNumaConfig`.
    NUMA_CONFIG = CU_DEVICE_ATTRIBUTE_NUMA_CONFIG;
    /// Number of the NUMA node of the device's memory; -1 if it is not a NUMA node.
    NUMA_ID = CU_DEVICE_ATTRIBUTE_NUMA_ID;
    /// 1 if multicast objects are supported.
    MULTICAST_SUPPORTED = CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED;
    /// 1 if processes share the device by MPS.
    MPS_ENABLED = CU_DEVICE_ATTRIBUTE_MPS_ENABLED;
    /// Number of the host's NUMA node nearest to the device; -1 if the system has no NUMA.
    HOST_NUMA_ID = CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID;
    /// 1 if contexts for graphics with Direct3D 12 are supported.
    D3D12_CIG_SUPPORTED = CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED;
    /// The decompression that the device supports in hardware: bits of `CUmemDecompressAlgorithm`.
    MEM_DECOMPRESS_ALGORITHM_MASK = CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK;
    /// Maximum bytes of one such decompression.
    MEM_DECOMPRESS_MAXIMUM_LENGTH = CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH;
    /// 1 if contexts for graphics with Vulkan are supported.
    VULKAN_CIG_SUPPORTED = CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED;
    /// PCI device number (upper half) and vendor number (lower half).
    GPU_PCI_DEVICE_ID = CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID;
    /// PCI subsystem number (upper half) and its vendor's (lower half).
    GPU_PCI_SUBSYSTEM_ID = CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID;
    /// 1 if virtual memory management can use memory of a host NUMA node.
    HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    /// 1 if pools can use memory of a host NUMA node.
    HOST_NUMA_MEMORY_POOLS_SUPPORTED = CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED;
    /// 1 if memory of a host NUMA node can be shared between machines.
    HOST_NUMA_MULTINODE_IPC_SUPPORTED = CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED;
    /// 1 if pools can use host memory.
    HOST_MEMORY_POOLS_SUPPORTED = CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED;
    /// 1 if virtual memory management can use host memory.
    HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    /// 1 if pinned host memory can be exported as a dma-buf.
    HOST_ALLOC_DMA_BUF_SUPPORTED = CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED;
    /// 1 if the link to the host supports only some native atomics.
    ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED = CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED;
    /// 1 if atomic reductions in stream memory operations are supported.
    ATOMIC_REDUCTION_SUPPORTED = CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED;
    /// Locality domains of the device.
    LOCALITY_DOMAIN_COUNT = CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_COUNT;
    /// Bytes of shared memory per block that is oversized.
    MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK = CU_DEVICE_ATTRIBUTE_MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK;
    /// 1 if streams for graphics with Direct3D 12 are supported.
    D3D12_CIG_STREAMS_SUPPORTED = CU_DEVICE_ATTRIBUTE_D3D12_CIG_STREAMS_SUPPORTED;
    /// 1 if an exported dma-buf can be mapped.
    DMA_BUF_MMAP_SUPPORTED = CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED;
    /// 1 if unicast logical endpoints are supported.
    LOGICAL_ENDPOINT_UNICAST_SUPPORTED = CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_SUPPORTED;
    /// 1 if multicast logical endpoints are supported.
    LOGICAL_ENDPOINT_MULTICAST_SUPPORTED = CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_MULTICAST_SUPPORTED;
    /// 1 if counted operations on logical endpoints are supported.
    LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED = CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED;
    /// 1 if a unicast logical endpoint's own device can use it.
    LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED = CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED;
    /// Multiprocessors of a locality domain.
    LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT = CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT;
    /// How logical endpoints can be shared: bits of their handle types.
    LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES = CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES;
    /// 1 if streams for graphics with Vulkan are supported.
    VULKAN_CIG_STREAMS_SUPPORTED = CU_DEVICE_ATTRIBUTE_VULKAN_CIG_STREAMS_SUPPORTED;
    /// Minimum bytes of a large tensor of a tensor map.
    TENSOR_MAP_LARGE_TENSOR_MIN_SIZE = CU_DEVICE_ATTRIBUTE_TENSOR_MAP_LARGE_TENSOR_MIN_SIZE;
    /// 1 if other devices reach memory of a locality domain by RDMA.
    GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED;
}

/// Older names of some of them.
impl DeviceAttribute {
    /// Older name of [`MAX_SHARED_MEMORY_PER_BLOCK`](Self::MAX_SHARED_MEMORY_PER_BLOCK).
    pub const SHARED_MEMORY_PER_BLOCK: Self = Self::MAX_SHARED_MEMORY_PER_BLOCK;
    /// Older name of [`MAX_REGISTERS_PER_BLOCK`](Self::MAX_REGISTERS_PER_BLOCK).
    pub const REGISTERS_PER_BLOCK: Self = Self::MAX_REGISTERS_PER_BLOCK;
    /// Older name of [`MAXIMUM_TEXTURE2D_LAYERED_WIDTH`](Self::MAXIMUM_TEXTURE2D_LAYERED_WIDTH).
    pub const MAXIMUM_TEXTURE2D_ARRAY_WIDTH: Self = Self::MAXIMUM_TEXTURE2D_LAYERED_WIDTH;
    /// Older name of [`MAXIMUM_TEXTURE2D_LAYERED_HEIGHT`](Self::MAXIMUM_TEXTURE2D_LAYERED_HEIGHT).
    pub const MAXIMUM_TEXTURE2D_ARRAY_HEIGHT: Self = Self::MAXIMUM_TEXTURE2D_LAYERED_HEIGHT;
    /// Older name of [`MAXIMUM_TEXTURE2D_LAYERED_LAYERS`](Self::MAXIMUM_TEXTURE2D_LAYERED_LAYERS).
    pub const MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES: Self = Self::MAXIMUM_TEXTURE2D_LAYERED_LAYERS;
    /// Older name of [`VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED`](Self::VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED).
    pub const VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED: Self = Self::VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
}
