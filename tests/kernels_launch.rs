//! Kernels whose launch is special: structs and closures by value, clusters, grids that wait for each other, and limits that
//! the kernel sets itself.

#![allow(unsafe_code)] // Launches: arguments as the kernels' READMEs tell, buffers as long as said.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_launch::error::LaunchError;
use cuda_launch::launch::Dim3;
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaModule, DeviceCopy, Error, ErrorKind, LaunchConfig, cuda_launch};
use references::{Gpu, Random, SIZES, each, line, same, shape};

const MIX: [&str; 2] =
    [include_str!("../examples/kernels/mix.ptx"), include_str!("kernels/lineinfo/mix.ptx")];
const BOUNDS: &str = include_str!("kernels/bounds.ptx");
const CLUSTERS: &str = include_str!("kernels/clusters.ptx");

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    bias: f64,
    tag: u16,
    idx: [i32; 4],
}

#[test]
fn mix() {
    let gpu = Gpu::new();
    for module in MIX.map(|ptx| gpu.module(ptx)) {
        for n in SIZES {
            let x = Random::new(n as u64).f32s(n);
            let p = Params { scale: 1.7, bias: -0.3, tag: 7, idx: [1, -2, 3, 1 << 30] };
            let (dx, mut y) = (gpu.put(&x), gpu.zeros::<f32>(n + 8));
            unsafe {
                cuda_launch! { kernel: mix, module: module, stream: gpu.stream,
                config: LaunchConfig::for_num_elems(n as u32),
                args: [p, dx.as_device_ptr(), y.as_mut_device_ptr(), n as u32, 3.1f32] }
            }
            .unwrap();
            each(&gpu.get(&y), format!("mix of {n}"), |i| {
                let Some(&x) = x.get(i) else { return 0.0 };
                (f64::from(p.scale * 3.1 * x) + p.bias + f64::from(p.idx[i % 4])) as f32
            });
            assert_eq!(p.tag, 7);
        }
    }
}

#[test]
fn apply_a_closure() {
    let gpu = Gpu::new();
    for module in MIX.map(|ptx| gpu.module(ptx)) {
        let k = 0xffff_fff0u32;
        let add = move |i: u32| i.wrapping_add(k);
        let mut out = gpu.zeros::<u32>(100);
        let mut most = out.slice_mut(..77);
        unsafe {
            cuda_launch! { kernel: apply, module: module, stream: gpu.stream, config: line(3, 32),
            args: [byval(add), slice_mut(most)] }
        }
        .unwrap();
        each(&gpu.get(&out), "apply", |i| if i < 77 { add(i as u32) } else { 0 });
    }
}

#[test]
fn ranks_in_clusters() {
    let gpu = Gpu::new();
    for module in MIX.map(|ptx| gpu.module(ptx)) {
        for cluster in [1, 2, 3, 4, 8] {
            let mut out = gpu.put(&[99u32; 24]);
            unsafe {
                cuda_launch! { kernel: ranks, module: module, stream: gpu.stream, config: line(24, 33),
                cluster_dim: (cluster, 1, 1), args: [slice_mut(out)] }
            }
            .unwrap();
            each(&gpu.get(&out), format!("ranks of {cluster}"), |block| block as u32 % cluster);
        }
        let mut out = gpu.put(&[99u32; 12]);
        let fixed = |out: &mut cuda_launch::DeviceBuffer<u32>, blocks| unsafe {
            cuda_launch! { kernel: ranks_fixed, module: module, stream: gpu.stream, config: line(blocks, 64),
            args: [slice_mut(out)] }
        };
        fixed(&mut out, 12).unwrap();
        each(&gpu.get(&out), "ranks_fixed", |block| block as u32 % 4);
        let error = fixed(&mut out, 6).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Launch(LaunchError::Cluster { .. })), "{error}");
        // Without a cluster, every block is the first of its own; blocks past the slice write nothing.
        let mut most = out.slice_mut(..9);
        unsafe {
            cuda_launch! { kernel: ranks, module: module, stream: gpu.stream, config: line(12, 32),
            args: [slice_mut(most)] }
        }
        .unwrap();
        same(&gpu.get(&out), &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3], "ranks without a cluster");
    }
}

#[test]
fn grid_sum_over_a_whole_grid() {
    let gpu = Gpu::new();
    for module in MIX.map(|ptx| gpu.module(ptx)) {
        let f = module.load_function("grid_sum").unwrap();
        let most = f.max_active_blocks(96, 0).unwrap() * gpu.ctx.multiprocessor_count().unwrap();
        for (n, blocks) in [(0, 1), (1, 1), (1000, 7), (5003, most.min(300))] {
            let x = Random::new(n as u64).u32s(n);
            let (dx, mut partial, mut out) =
                (gpu.put(&x), gpu.zeros::<u32>(blocks as usize), gpu.zeros::<u32>(1));
            unsafe {
                cuda_launch! { function: f, stream: gpu.stream, config: line(blocks, 96), cooperative: true,
                args: [dx.as_device_ptr(), n as u32, partial.as_mut_device_ptr(), out.as_mut_device_ptr()] }
            }
            .unwrap();
            assert_eq!(
                gpu.get(&out),
                [x.iter().fold(0u32, |s, &v| s.wrapping_add(v))],
                "{n} over {blocks} blocks"
            );
            let stride = 96 * blocks as usize;
            each(&gpu.get(&partial), format!("partial sums of {n}"), |block| {
                let own = x.iter().enumerate().filter(|(i, _)| i % stride / 96 == block);
                own.fold(0u32, |s, (_, &v)| s.wrapping_add(v))
            });
        }
        let mut out = gpu.zeros::<u32>(most as usize + 2);
        let (config, p) = (line(most + 1, 96), out.as_mut_device_ptr());
        let too_many = unsafe {
            cuda_launch! { function: f, stream: gpu.stream, config: config, cooperative: true, args: [p, 0u32, p, p] }
        };
        let error = too_many.unwrap_err();
        assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE));
        let hint =
            format!("{} blocks cannot run at once: this kernel and block size fit {most} on", most + 1);
        assert!(error.to_string().contains(&hint), "{error}");
    }
}

/// Launches a kernel of bounds or clusters over three blocks; what the first said its block has, or the error.
fn threads(gpu: &Gpu, module: &CudaModule, kernel: &str, block: Dim3) -> Result<u32, Error> {
    let mut out = gpu.zeros::<u32>(16);
    unsafe {
        cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: shape((3, 1, 1), block),
        args: [out.as_mut_device_ptr()] }
    }?;
    Ok(gpu.get(&out)[0])
}

#[test]
fn max_threads_are_checked_before_the_driver() {
    let gpu = Gpu::new();
    let (module, handwritten) =
        (gpu.module(BOUNDS), gpu.module(include_str!("kernels/handwritten/bounds.ptx")));
    for (module, kernel, good, bad) in [
        (&module, "unbounded", (1024, 1, 1), (512, 3, 1)),
        (&module, "max_128", (128, 1, 1), (129, 1, 1)),
        (&module, "max_128", (4, 8, 4), (64, 1, 3)),
        (&module, "max_1024", (2, 512, 1), (1024, 2, 1)),
        (&module, "max_256_min_4", (255, 1, 1), (257, 1, 1)),
        (&module, "registers_32", (1024, 1, 1), (1024, 1, 2)),
        (&handwritten, "max_8_8", (64, 1, 1), (65, 1, 1)), // only the product counts
    ] {
        let threads_x = if kernel == "max_8_8" { good.0 } else { good.0 * good.1 * good.2 };
        assert_eq!(threads(&gpu, module, kernel, good).unwrap(), threads_x, "{kernel}");
        let error = threads(&gpu, module, kernel, bad).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Launch(LaunchError::Threads { .. })), "{kernel}: {error}");
        assert!(error.to_string().contains(kernel) && error.call().is_none(), "{error}");
    }
}

#[test]
fn required_blocks_are_checked_before_the_driver() {
    let gpu = Gpu::new();
    let module = gpu.module(include_str!("kernels/handwritten/bounds.ptx"));
    for (kernel, good, bad) in [
        ("required_64", (64, 1, 1), [(32, 1, 1), (65, 1, 1), (32, 2, 1), (8, 8, 1)]),
        ("required_16_4", (16, 4, 1), [(64, 1, 1), (4, 16, 1), (16, 4, 2), (16, 1, 1)]),
    ] {
        assert_eq!(threads(&gpu, &module, kernel, good).unwrap(), 64, "{kernel}");
        for bad in bad {
            let error = threads(&gpu, &module, kernel, bad).unwrap_err();
            let ErrorKind::Launch(LaunchError::RequiredBlock { given, required, .. }) = error.kind() else {
                panic!("{kernel} with {bad:?}: {error}");
            };
            assert_eq!((*given, *required), (bad, good), "{kernel}");
        }
    }
}

#[test]
fn a_grid_may_count_clusters() {
    let gpu = Gpu::new();
    let module = gpu.module(CLUSTERS);
    for (kernel, block, blocks, size) in
        [("required_64_2", (64, 2, 1), 3, 128), ("blocks_are_clusters", (64, 1, 1), 6, 64)]
    {
        // (1, 1, 1) stands for what was compiled.
        for given in [block, (1, 1, 1)] {
            let mut out = gpu.zeros::<u32>(8);
            unsafe {
                cuda_launch! { kernel: (kernel), module: module, stream: gpu.stream, config: shape((3, 1, 1), given),
                args: [out.as_mut_device_ptr()] }
            }
            .unwrap();
            each(&gpu.get(&out), kernel, |block| if block < blocks { size } else { 0 });
        }
        let error = threads(&gpu, &module, kernel, (32, 1, 1)).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Launch(LaunchError::RequiredBlock { .. })),
            "{kernel}: {error}"
        );
    }
}

#[test]
fn the_kernel_limits_its_cluster() {
    let gpu = Gpu::new();
    let module = gpu.module(CLUSTERS);
    for (cluster, fits) in [(1, true), (2, true), (8, true), (16, false)] {
        let mut out = gpu.zeros::<u32>(16);
        let launched = unsafe {
            cuda_launch! { kernel: max_cluster_8, module: module, stream: gpu.stream, config: line(16, 128),
            cluster_dim: (cluster, 1, 1), args: [out.as_mut_device_ptr()] }
        };
        assert_eq!(launched.is_ok(), fits, "clusters of {cluster}: {launched:?}");
        each(&gpu.get(&out), format!("clusters of {cluster}"), |_| if fits { 128 } else { 0 });
    }
    let error = threads(&gpu, &module, "max_cluster_8", (129, 1, 1)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Launch(LaunchError::Threads { .. })), "{error}");
}

#[test]
fn sixteen_blocks_need_permission() {
    let gpu = Gpu::new();
    let f = gpu.module(CLUSTERS).load_function("pass_on").unwrap();
    let mut out = gpu.zeros::<u32>(32);
    let mut launch = || unsafe {
        cuda_launch! { function: f, stream: gpu.stream, config: line(32, 32), cluster_dim: (16, 1, 1),
        args: [out.as_mut_device_ptr()] }
    };
    let error = launch().unwrap_err();
    assert!(
        error.is_launch_refused()
            && error.to_string().contains("set_non_portable_cluster_size_allowed(true)"),
        "{error}"
    );
    f.set_non_portable_cluster_size_allowed(true).unwrap();
    launch().unwrap();
    each(&gpu.get(&out), "16 blocks pass on", |block| block as u32 / 16 * 16 + (block as u32 + 15) % 16);
}

#[test]
fn places_in_clusters_and_of_clusters() {
    let gpu = Gpu::new();
    let module = gpu.module(CLUSTERS);
    for (grid, cluster) in
        [((4, 6, 2), (2, 3, 1)), ((8, 1, 1), (4, 1, 1)), ((2, 4, 2), (1, 2, 2)), ((3, 5, 1), (3, 1, 1))]
    {
        let blocks = (grid.0 * grid.1 * grid.2) as usize;
        let mut out = gpu.zeros::<u32>(blocks * 14);
        unsafe {
            cuda_launch! { kernel: cluster_indices, module: module, stream: gpu.stream, config: shape(grid, (40, 1, 1)),
            cluster_dim: cluster, args: [out.as_mut_device_ptr()] }
        }
        .unwrap();
        let size = cluster.0 * cluster.1 * cluster.2;
        let expected = |i: u32| {
            let (x, y, z) = (i % grid.0, i / grid.0 % grid.1, i / grid.0 / grid.1);
            let (cx, cy, cz) = (x % cluster.0, y % cluster.1, z % cluster.2);
            let rank = (cz * cluster.1 + cy) * cluster.0 + cx;
            let own = [cx, cy, cz, cluster.0, cluster.1, cluster.2, cluster.0 * 40, rank, size];
            let of_grid = [x / cluster.0, y / cluster.1, grid.0 / cluster.0, grid.1 / cluster.1, size];
            [&own[..], &of_grid[..]].concat()
        };
        let expected: Vec<u32> = (0..blocks as u32).flat_map(expected).collect();
        same(&gpu.get(&out), &expected, format!("clusters of {cluster:?} in a grid of {grid:?}"));
    }
}

#[test]
fn shared_memory_of_other_blocks() {
    let gpu = Gpu::new();
    let module = gpu.module(CLUSTERS);
    for cluster in [1, 2, 4, 8] {
        let mut out = gpu.zeros::<u32>(16);
        unsafe {
            cuda_launch! { kernel: pass_on, module: module, stream: gpu.stream, config: line(16, 64),
            cluster_dim: (cluster, 1, 1), args: [out.as_mut_device_ptr()] }
        }
        .unwrap();
        each(&gpu.get(&out), format!("passed on in {cluster}"), |block| {
            let block = block as u32;
            block / cluster * cluster + (block + cluster - 1) % cluster
        });
    }
    let mut random = Random::new(8);
    let data: Vec<u32> = (0..3001).map(|_| random.below(128) as u32).collect();
    let (input, mut bins) = (gpu.put(&data), gpu.zeros::<u32>(130));
    unsafe {
        cuda_launch! { kernel: cluster_histogram, module: module, stream: gpu.stream, config: line(2, 96),
        args: [input.as_device_ptr(), data.len() as u32, bins.as_mut_device_ptr()] }
    }
    .unwrap();
    each(&gpu.get(&bins), "histogram over two blocks", |v| {
        data.iter().filter(|&&x| x as usize == v).count() as u32
    });
}
