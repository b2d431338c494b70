//! What `cuda-launch bind` writes for the images of this tree; made by cli/tests/bind.rs.
#![allow(missing_docs, dead_code, unreachable_pub)]

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/fill.ptx")]
pub mod examples_kernels_fill_ptx {
    unsafe extern "C" {
        /// `fill`
        pub fn fill(p0: *mut u32, p1: u32, p2: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/histogram.ptx")]
pub mod examples_kernels_histogram_ptx {
    unsafe extern "C" {
        /// `histogram_global`
        pub fn histogram_global(p0: *const u8, p1: u32, p2: *mut u32);

        /// `histogram_shared`
        pub fn histogram_shared(p0: *const u8, p1: u32, p2: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/mandelbrot.ptx")]
pub mod examples_kernels_mandelbrot_ptx {
    unsafe extern "C" {
        /// `mandelbrot_f32`
        pub fn mandelbrot_f32(
            p0: *mut u32,
            p1: u32,
            p2: u32,
            p3: f32,
            p4: f32,
            p5: f32,
            p6: f32,
            p7: u32,
        );

        /// `mandelbrot_f64`
        pub fn mandelbrot_f64(
            p0: *mut u32,
            p1: u32,
            p2: u32,
            p3: f64,
            p4: f64,
            p5: f64,
            p6: f64,
            p7: u32,
        );
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/matmul.ptx")]
pub mod examples_kernels_matmul_ptx {
    unsafe extern "C" {
        /// `matmul_naive`
        pub fn matmul_naive(
            p0: *const f32,
            p1: *const f32,
            p2: *mut f32,
            p3: u32,
            p4: u32,
            p5: i32,
        );

        /// `matmul`
        pub fn matmul(p0: *const f32, p1: *const f32, p2: *mut f32, p3: u32, p4: u32, p5: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/mix.ptx")]
pub mod examples_kernels_mix_ptx {
    unsafe extern "C" {
        /// `mix`
        pub fn mix(p0: [u64; 5], p1: *const f32, p2: *mut f32, p3: u32, p4: f32);

        /// `apply`
        pub fn apply(p0: [u32; 1], p1: &mut [u32]);

        /// `ranks`
        pub fn ranks(p0: &mut [u32]);

        /// `ranks_fixed`
        /// Clusters have (4, 1, 1) blocks.
        pub fn ranks_fixed(p0: &mut [u32]);

        /// `grid_sum`
        pub fn grid_sum(p0: *const u32, p1: u32, p2: *mut u32, p3: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/reduce.ptx")]
pub mod examples_kernels_reduce_ptx {
    unsafe extern "C" {
        /// `reduce_f32`
        pub fn reduce_f32(p0: *const f32, p1: u32, p2: *mut f32);

        /// `reduce_f64`
        pub fn reduce_f64(p0: *const f64, p1: u32, p2: *mut f64);

        /// `reduce_u32`
        pub fn reduce_u32(p0: *const u32, p1: u32, p2: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/saxpy.ptx")]
pub mod examples_kernels_saxpy_ptx {
    unsafe extern "C" {
        /// `saxpy`
        pub fn saxpy(p0: u32, p1: f32, p2: *const f32, p3: *mut f32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/scale.ptx")]
pub mod examples_kernels_scale_ptx {
    unsafe extern "C" {
        /// `scale`
        pub fn scale(p0: u32, p1: f32, p2: *const f32, p3: *mut f32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/scan.ptx")]
pub mod examples_kernels_scan_ptx {
    unsafe extern "C" {
        /// `scan_blocks`
        pub fn scan_blocks(p0: *const u32, p1: *mut u32, p2: *mut u32, p3: u32);

        /// `scan_add`
        pub fn scan_add(p0: *mut u32, p1: *const u32, p2: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/sin.ptx")]
pub mod examples_kernels_sin_ptx {
    unsafe extern "C" {
        /// `sin_kernel`
        pub fn sin_kernel(p0: *mut f32, p1: *const f32, p2: i32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/strided_copy.ptx")]
pub mod examples_kernels_strided_copy_ptx {
    unsafe extern "C" {
        /// `strided_copy`
        pub fn strided_copy(p0: *mut f32, p1: *const f32, p2: u32, p3: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/transpose.ptx")]
pub mod examples_kernels_transpose_ptx {
    unsafe extern "C" {
        /// `transpose`
        pub fn transpose(p0: *mut f32, p1: *const f32, p2: u32, p3: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/typed.ptx")]
pub mod examples_kernels_typed_ptx {
    unsafe extern "C" {
        /// `vecadd`
        pub fn vecadd(p0: &[f32], p2: &[f32], p4: &mut [f32]);

        /// `saxpy`
        pub fn saxpy(p0: u32, p1: f32, p2: *const f32, p3: *mut f32);

        /// `grid_sum`
        pub fn grid_sum(p0: *const u32, p1: u32, p2: *mut u32, p3: *mut u32);

        /// `ranks`
        pub fn ranks(p0: &mut [u32]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("examples/kernels/vecadd.ptx")]
pub mod examples_kernels_vecadd_ptx {
    unsafe extern "C" {
        /// `vecadd`
        pub fn vecadd(p0: &[f32], p2: &[f32], p4: &mut [f32]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.ptx")]
pub mod ptx_tests_data_archs_ptx {
    unsafe extern "C" {
        /// `mixed`
        /// Blocks have at most 192 threads.
        pub fn mixed(
            flag: u8,
            least: u16,
            triple: [u32; 3],
            out: *mut f32,
            factor: f32,
            wide: [u128; 2],
            count: u32,
        );

        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        pub fn shaped(out: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_100.cubin")]
pub mod ptx_tests_data_archs_sm_100_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_103.cubin")]
pub mod ptx_tests_data_archs_sm_103_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_110.cubin")]
pub mod ptx_tests_data_archs_sm_110_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_120.cubin")]
pub mod ptx_tests_data_archs_sm_120_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_121.cubin")]
pub mod ptx_tests_data_archs_sm_121_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_75.cubin")]
pub mod ptx_tests_data_archs_sm_75_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_80.cubin")]
pub mod ptx_tests_data_archs_sm_80_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_86.cubin")]
pub mod ptx_tests_data_archs_sm_86_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_87.cubin")]
pub mod ptx_tests_data_archs_sm_87_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_88.cubin")]
pub mod ptx_tests_data_archs_sm_88_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_89.cubin")]
pub mod ptx_tests_data_archs_sm_89_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/archs.sm_90.cubin")]
pub mod ptx_tests_data_archs_sm_90_cubin {
    unsafe extern "C" {
        /// `shaped`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `mixed`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn mixed(p0: u8, p1: u16, p2: [u8; 12], p3: u64, p4: u32, p5: [u64; 4], p6: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/attributes.sm_90.cubin")]
pub mod ptx_tests_data_attributes_sm_90_cubin {
    unsafe extern "C" {
        /// `small`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn small(p0: u8, p1: u8, p2: [u8; 3], p3: u16, p4: [u8; 12], p5: [u64; 2], p6: u64);

        /// `shaped`
        /// Blocks must have exactly (32, 2, 1) threads.
        /// Clusters have (2, 1, 1) blocks.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn shaped(p0: u64);

        /// `clusters`
        /// Clusters have (4, 2, 1) blocks.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn clusters(p0: u64);

        /// `bounds`
        /// Blocks have at most 192 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn bounds(p0: u64);

        /// `registers`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn registers(p0: u64);

        /// `aligned`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn aligned(p0: u32, p1: [u64; 8], p2: u32, p3: u64);

        /// `large`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn large(p0: [u8; 4500], p1: u32, p2: u64);

        /// `nothing`
        pub fn nothing();
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.debug.ptx")]
pub mod ptx_tests_data_basic_debug_ptx {
    unsafe extern "C" {
        /// `vecadd`
        pub fn vecadd(a: *const f32, b: *const f32, c: *mut f32, n: u64);

        /// `scale`
        /// Blocks have at most 256 threads.
        pub fn scale(x: *mut f64, f: f64, n: i32, tag: i8, s: i16);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.lto.fatbin")]
pub mod ptx_tests_data_basic_lto_fatbin {
    unsafe extern "C" {}
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.lz4.fatbin")]
pub mod ptx_tests_data_basic_lz4_fatbin {
    unsafe extern "C" {
        /// `scale`
        /// Blocks have at most 256 threads.
        pub fn scale(p0: *mut f64, p1: f64, p2: i32, p3: u8, p4: i16);

        /// `vecadd`
        pub fn vecadd(p0: *const f32, p1: *const f32, p2: *mut f32, p3: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.plain.fatbin")]
pub mod ptx_tests_data_basic_plain_fatbin {
    unsafe extern "C" {
        /// `scale`
        /// Blocks have at most 256 threads.
        pub fn scale(p0: *mut f64, p1: f64, p2: i32, p3: u8, p4: i16);

        /// `vecadd`
        pub fn vecadd(p0: *const f32, p1: *const f32, p2: *mut f32, p3: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.ptx")]
pub mod ptx_tests_data_basic_ptx {
    unsafe extern "C" {
        /// `vecadd`
        pub fn vecadd(p0: *const f32, p1: *const f32, p2: *mut f32, p3: u64);

        /// `scale`
        /// Blocks have at most 256 threads.
        pub fn scale(p0: *mut f64, p1: f64, p2: i32, p3: u8, p4: i16);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.rdc.cubin")]
pub mod ptx_tests_data_basic_rdc_cubin {
    unsafe extern "C" {
        /// `scale`
        /// Blocks have at most 256 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn scale(p0: u64, p1: u64, p2: u32, p3: u8, p4: u16);

        /// `vecadd`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn vecadd(p0: u64, p1: u64, p2: u64, p3: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.sm_100.ptx")]
pub mod ptx_tests_data_basic_sm_100_ptx {
    unsafe extern "C" {
        /// `vecadd`
        pub fn vecadd(p0: *const f32, p1: *const f32, p2: *mut f32, p3: u64);

        /// `scale`
        /// Blocks have at most 256 threads.
        pub fn scale(p0: *mut f64, p1: f64, p2: i32, p3: u8, p4: i16);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.sm_100a.cubin")]
pub mod ptx_tests_data_basic_sm_100a_cubin {
    unsafe extern "C" {
        /// `scale`
        /// Blocks have at most 256 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn scale(p0: u64, p1: u64, p2: u32, p3: u8, p4: u16);

        /// `vecadd`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn vecadd(p0: u64, p1: u64, p2: u64, p3: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.sm_75.cubin")]
pub mod ptx_tests_data_basic_sm_75_cubin {
    unsafe extern "C" {
        /// `scale`
        /// Blocks have at most 256 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn scale(p0: u64, p1: u64, p2: u32, p3: u8, p4: u16);

        /// `vecadd`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn vecadd(p0: u64, p1: u64, p2: u64, p3: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.sm_90.cubin")]
pub mod ptx_tests_data_basic_sm_90_cubin {
    unsafe extern "C" {
        /// `scale`
        /// Blocks have at most 256 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn scale(p0: u64, p1: u64, p2: u32, p3: u8, p4: u16);

        /// `vecadd`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn vecadd(p0: u64, p1: u64, p2: u64, p3: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.sm_90a.cubin")]
pub mod ptx_tests_data_basic_sm_90a_cubin {
    unsafe extern "C" {
        /// `scale`
        /// Blocks have at most 256 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn scale(p0: u64, p1: u64, p2: u32, p3: u8, p4: u16);

        /// `vecadd`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn vecadd(p0: u64, p1: u64, p2: u64, p3: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.suffixes.fatbin")]
pub mod ptx_tests_data_basic_suffixes_fatbin {
    unsafe extern "C" {
        /// `scale`
        /// Blocks have at most 256 threads.
        pub fn scale(p0: *mut f64, p1: f64, p2: i32, p3: u8, p4: i16);

        /// `vecadd`
        pub fn vecadd(p0: *const f32, p1: *const f32, p2: *mut f32, p3: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/basic.zstd.fatbin")]
pub mod ptx_tests_data_basic_zstd_fatbin {
    unsafe extern "C" {
        /// `scale`
        /// Blocks have at most 256 threads.
        pub fn scale(p0: *mut f64, p1: f64, p2: i32, p3: u8, p4: i16);

        /// `vecadd`
        pub fn vecadd(p0: *const f32, p1: *const f32, p2: *mut f32, p3: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/cluster.ptx")]
pub mod ptx_tests_data_cluster_ptx {
    unsafe extern "C" {
        /// `ring`
        /// Blocks have at most 128 threads.
        /// Clusters have (2, 1, 1) blocks.
        pub fn ring(p0: *mut u32, p1: u32);

        /// `grid_wide`
        pub fn grid_wide(p0: *mut u32);

        /// `fixed_block`
        /// Blocks must have exactly (64, 2, 1) threads.
        /// Clusters have (1, 1, 1) blocks.
        pub fn fixed_block(p0: *mut f32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/cluster.sm_100.ptx")]
pub mod ptx_tests_data_cluster_sm_100_ptx {
    unsafe extern "C" {
        /// `ring`
        /// Blocks have at most 128 threads.
        /// Clusters have (2, 1, 1) blocks.
        pub fn ring(p0: *mut u32, p1: u32);

        /// `grid_wide`
        pub fn grid_wide(p0: *mut u32);

        /// `fixed_block`
        /// Blocks must have exactly (64, 2, 1) threads.
        /// Clusters have (1, 1, 1) blocks.
        pub fn fixed_block(p0: *mut f32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/cluster.sm_90.cubin")]
pub mod ptx_tests_data_cluster_sm_90_cubin {
    unsafe extern "C" {
        /// `fixed_block`
        /// Blocks must have exactly (64, 2, 1) threads.
        /// Clusters have (1, 1, 1) blocks.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn fixed_block(p0: u64);

        /// `grid_wide`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn grid_wide(p0: u64);

        /// `ring`
        /// Blocks have at most 128 threads.
        /// Clusters have (2, 1, 1) blocks.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn ring(p0: u64, p1: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/features.lineinfo.ptx")]
pub mod ptx_tests_data_features_lineinfo_ptx {
    unsafe extern "C" {
        /// `tiled<float, 16>(float const*, float*, int)`
        #[entry("_Z5tiledIfLi16EEvPKT_PS0_i")]
        pub fn tiled_float_16(p0: *const f32, p1: *mut f32, p2: i32);

        /// `tiled<double, 8>(double const*, double*, int)`
        #[entry("_Z5tiledIdLi8EEvPKT_PS0_i")]
        pub fn tiled_double_8(p0: *const f64, p1: *mut f64, p2: i32);

        /// `structs`
        pub fn structs(
            p0: [u16; 2],
            p1: [u128; 2],
            p2: [u64; 10],
            p3: u8,
            p4: [u32; 3],
            p5: [u128; 1],
            p6: *mut u64,
            p7: [u128; 1],
        );

        /// `reduce`
        /// Uses dynamic shared memory; set its size in the launch configuration.
        pub fn reduce(p0: *const u32, p1: *mut u32, p2: i32);

        /// `indirect`
        pub fn indirect(p0: *mut f32, p1: i32);

        /// `print_it`
        pub fn print_it(p0: i32);

        /// `recursive`
        pub fn recursive(p0: *mut u32);

        /// `switched`
        pub fn switched(p0: *mut u32, p1: i32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/features.ptx")]
pub mod ptx_tests_data_features_ptx {
    unsafe extern "C" {
        /// `tiled<float, 16>(float const*, float*, int)`
        #[entry("_Z5tiledIfLi16EEvPKT_PS0_i")]
        pub fn tiled_float_16(p0: *const f32, p1: *mut f32, p2: i32);

        /// `tiled<double, 8>(double const*, double*, int)`
        #[entry("_Z5tiledIdLi8EEvPKT_PS0_i")]
        pub fn tiled_double_8(p0: *const f64, p1: *mut f64, p2: i32);

        /// `structs`
        pub fn structs(
            p0: [u16; 2],
            p1: [u128; 2],
            p2: [u64; 10],
            p3: u8,
            p4: [u32; 3],
            p5: [u128; 1],
            p6: *mut u64,
            p7: [u128; 1],
        );

        /// `reduce`
        /// Uses dynamic shared memory; set its size in the launch configuration.
        pub fn reduce(p0: *const u32, p1: *mut u32, p2: i32);

        /// `indirect`
        pub fn indirect(p0: *mut f32, p1: i32);

        /// `print_it`
        pub fn print_it(p0: i32);

        /// `recursive`
        pub fn recursive(p0: *mut u32);

        /// `switched`
        pub fn switched(p0: *mut u32, p1: i32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/features.sm_100.ptx")]
pub mod ptx_tests_data_features_sm_100_ptx {
    unsafe extern "C" {
        /// `tiled<float, 16>(float const*, float*, int)`
        #[entry("_Z5tiledIfLi16EEvPKT_PS0_i")]
        pub fn tiled_float_16(p0: *const f32, p1: *mut f32, p2: i32);

        /// `tiled<double, 8>(double const*, double*, int)`
        #[entry("_Z5tiledIdLi8EEvPKT_PS0_i")]
        pub fn tiled_double_8(p0: *const f64, p1: *mut f64, p2: i32);

        /// `structs`
        pub fn structs(
            p0: [u16; 2],
            p1: [u128; 2],
            p2: [u64; 10],
            p3: u8,
            p4: [u32; 3],
            p5: [u128; 1],
            p6: *mut u64,
            p7: [u128; 1],
        );

        /// `reduce`
        /// Uses dynamic shared memory; set its size in the launch configuration.
        pub fn reduce(p0: *const u32, p1: *mut u32, p2: i32);

        /// `indirect`
        pub fn indirect(p0: *mut f32, p1: i32);

        /// `print_it`
        pub fn print_it(p0: i32);

        /// `recursive`
        pub fn recursive(p0: *mut u32);

        /// `switched`
        pub fn switched(p0: *mut u32, p1: i32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/features.sm_90.cubin")]
pub mod ptx_tests_data_features_sm_90_cubin {
    unsafe extern "C" {
        /// `indirect`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn indirect(p0: u64, p1: u32);

        /// `print_it`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn print_it(p0: u32);

        /// `tiled<double, 8>(double const*, double*, int)`
        #[entry("_Z5tiledIdLi8EEvPKT_PS0_i")]
        pub fn tiled_double_8(p0: *const f64, p1: *mut f64, p2: i32);

        /// `switched`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn switched(p0: u64, p1: u32);

        /// `reduce`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn reduce(p0: u64, p1: u64, p2: u32);

        /// `tiled<float, 16>(float const*, float*, int)`
        #[entry("_Z5tiledIfLi16EEvPKT_PS0_i")]
        pub fn tiled_float_16(p0: *const f32, p1: *mut f32, p2: i32);

        /// `recursive`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn recursive(p0: u64);

        /// `structs`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn structs(
            p0: u32,
            p1: [u64; 4],
            p2: [u8; 80],
            p3: u8,
            p4: [u8; 12],
            p5: [u64; 2],
            p6: u64,
            p7: [u64; 2],
        );
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/legacy.ptx")]
pub mod ptx_tests_data_legacy_ptx {
    unsafe extern "C" {
        /// `k`
        /// Blocks have at most 128 threads.
        pub fn k(p: *mut u32, q: u32, r: [u128; 3]);

        /// `m`
        /// Blocks must have exactly (32, 4, 1) threads.
        pub fn m(p: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/legacy.sm_50.cubin")]
pub mod ptx_tests_data_legacy_sm_50_cubin {
    unsafe extern "C" {
        /// `m`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn m(p0: u64);

        /// `k`
        /// Blocks have at most 128 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn k(p0: u64, p1: u32, p2: [u8; 48]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/legacy.sm_90a.cubin")]
pub mod ptx_tests_data_legacy_sm_90a_cubin {
    unsafe extern "C" {
        /// `m`
        /// Blocks must have exactly (32, 4, 1) threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn m(p0: u64);

        /// `k`
        /// Blocks have at most 128 threads.
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn k(p0: u64, p1: u32, p2: [u8; 48]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/named.clang.ptx")]
pub mod ptx_tests_data_named_clang_ptx {
    unsafe extern "C" {
        /// `scale`
        pub fn scale(input: *const f32, output: *mut f32, range: [u32; 4], count: i32, mode: u32);

        /// `tally`
        pub fn tally(
            counter: *mut u32,
            values: *const u16,
            unused: *const u8,
            enabled: u8,
            least: i8,
            limit: i64,
            weight: f32,
        );

        /// `filters::blur<double, 4>(double const*, double*, unsigned int)`
        #[entry("_ZN7filters4blurIdLi4EEEvPKT_PS1_j")]
        pub fn blur_double_4(source: *const f64, target: *mut f64, length: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/named.debug.ptx")]
pub mod ptx_tests_data_named_debug_ptx {
    unsafe extern "C" {
        /// `scale`
        pub fn scale(input: *const f32, output: *mut f32, range: [u32; 4], count: i32, mode: u32);

        /// `tally`
        pub fn tally(
            counter: *mut u32,
            values: *const u16,
            unused: *const u8,
            enabled: u8,
            least: i8,
            limit: i64,
            weight: f32,
        );

        /// `filters::blur<double, 4>(double const*, double*, unsigned int)`
        #[entry("_ZN7filters4blurIdLi4EEEvPKT_PS1_j")]
        pub fn blur_double_4(source: *const f64, target: *mut f64, length: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/named.debug.sm_90.cubin")]
pub mod ptx_tests_data_named_debug_sm_90_cubin {
    unsafe extern "C" {
        /// `filters::blur<double, 4>(double const*, double*, unsigned int)`
        #[entry("_ZN7filters4blurIdLi4EEEvPKT_PS1_j")]
        pub fn blur_double_4(source: *const f64, target: *mut f64, length: u32);

        /// `scale`
        pub fn scale(input: *const f32, output: *mut f32, range: [u64; 2], count: i32, mode: u32);

        /// `tally`
        pub fn tally(
            counter: *mut u32,
            values: *const u16,
            unused: *const u8,
            enabled: u8,
            least: i8,
            limit: i64,
            weight: f32,
        );
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/rust.debug.ptx")]
pub mod ptx_tests_data_rust_debug_ptx {
    unsafe extern "C" {
        /// `choose`
        pub fn choose(p: *mut u32, s: [u64; 4], n: u32, f: *const f32, text: *const u64);

        pub static mut SLICE: [u64; 2];

        pub static mut TEXT: [u64; 3];

        pub static mut _RNvCshKuLGoDTFBq_4rust5TABLE: [u8; 16];
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("ptx/tests/data/rust.ptx")]
pub mod ptx_tests_data_rust_ptx {
    unsafe extern "C" {
        /// `choose`
        pub fn choose(p0: *mut u64, p1: [u64; 4], p2: u32, p3: *mut u8, p4: *const u64);

        pub static mut SLICE: [u64; 2];

        pub static mut TEXT: [u64; 3];

        pub static mut _RNvCshKuLGoDTFBq_4rust5TABLE: [u8; 16];
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/atomics.ptx")]
pub mod tests_kernels_atomics_ptx {
    unsafe extern "C" {
        /// `all_u32`
        pub fn all_u32(p0: *mut u32, p1: *mut i32);

        /// `all_u64`
        pub fn all_u64(p0: *mut u64);

        /// `add_floats`
        pub fn add_floats(p0: *mut f32, p1: *mut f64);

        /// `tickets`
        pub fn tickets(p0: *mut u32, p1: *mut u32);

        /// `max_f64`
        pub fn max_f64(p0: *const f64, p1: u32, p2: *mut i64);

        /// `count_u16`
        pub fn count_u16(p0: *mut i16);

        /// `in_shared`
        pub fn in_shared(p0: *mut u64);

        /// `scopes`
        pub fn scopes(p0: *mut u32);

        /// `spin_lock`
        pub fn spin_lock(p0: *mut u32, p1: *mut u32);

        /// `last_block`
        pub fn last_block(p0: *const u32, p1: u32, p2: *mut u32, p3: *mut u32, p4: *mut u32);

        /// `message`
        pub fn message(p0: *mut u32, p1: *mut i32, p2: *mut u32);

        /// `instructions`
        pub fn instructions(p0: *mut u32, p1: *mut u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/bounds.ptx")]
pub mod tests_kernels_bounds_ptx {
    unsafe extern "C" {
        /// `unbounded`
        pub fn unbounded(p0: *mut u32);

        /// `max_128`
        /// Blocks have at most 128 threads.
        pub fn max_128(p0: *mut u32);

        /// `max_1024`
        /// Blocks have at most 1024 threads.
        pub fn max_1024(p0: *mut u32);

        /// `max_256_min_4`
        /// Blocks have at most 256 threads.
        pub fn max_256_min_4(p0: *mut u32);

        /// `registers_32`
        pub fn registers_32(p0: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/calls.ptx")]
pub mod tests_kernels_calls_ptx {
    unsafe extern "C" {
        /// `indirect`
        pub fn indirect(p0: *const u32, p1: *const u32, p2: *const u32, p3: *mut u32, p4: u32);

        /// `recursive`
        pub fn recursive(p0: *mut u32);

        /// `mutual`
        pub fn mutual(p0: *mut i32);

        /// `structs`
        pub fn structs(p0: *const f32, p1: *const f32, p2: *mut f32);

        /// `ten_arguments`
        pub fn ten_arguments(p0: *const f64, p1: *mut f64);

        /// `through_pointer`
        pub fn through_pointer(p0: *mut u32);

        /// `virtual_call`
        pub fn virtual_call(p0: *mut f32);

        /// `barrier_in_function`
        pub fn barrier_in_function(p0: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/clang/histogram.ptx")]
pub mod tests_kernels_clang_histogram_ptx {
    unsafe extern "C" {
        /// `histogram_global`
        pub fn histogram_global(p0: *const u8, p1: u32, p2: *mut u32);

        /// `histogram_shared`
        pub fn histogram_shared(p0: *const u8, p1: u32, p2: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/clang/mandelbrot.ptx")]
pub mod tests_kernels_clang_mandelbrot_ptx {
    unsafe extern "C" {
        /// `mandelbrot_f32`
        pub fn mandelbrot_f32(
            p0: *mut u32,
            p1: u32,
            p2: u32,
            p3: f32,
            p4: f32,
            p5: f32,
            p6: f32,
            p7: i32,
        );

        /// `mandelbrot_f64`
        pub fn mandelbrot_f64(
            p0: *mut u32,
            p1: u32,
            p2: u32,
            p3: f64,
            p4: f64,
            p5: f64,
            p6: f64,
            p7: i32,
        );
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/clang/matmul.ptx")]
pub mod tests_kernels_clang_matmul_ptx {
    unsafe extern "C" {
        /// `matmul_naive`
        pub fn matmul_naive(
            p0: *const f32,
            p1: *const f32,
            p2: *mut f32,
            p3: u32,
            p4: u32,
            p5: i32,
        );

        /// `matmul`
        pub fn matmul(p0: *const f32, p1: *const f32, p2: *mut f32, p3: u32, p4: u32, p5: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/clang/reduce.ptx")]
pub mod tests_kernels_clang_reduce_ptx {
    unsafe extern "C" {
        /// `reduce_f32`
        pub fn reduce_f32(p0: *const f32, p1: u32, p2: *mut f32);

        /// `reduce_f64`
        pub fn reduce_f64(p0: *const f64, p1: u32, p2: *mut f64);

        /// `reduce_u32`
        pub fn reduce_u32(p0: *const u32, p1: u32, p2: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/clang/saxpy.ptx")]
pub mod tests_kernels_clang_saxpy_ptx {
    unsafe extern "C" {
        /// `saxpy`
        pub fn saxpy(p0: u32, p1: f32, p2: *const f32, p3: *mut f32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/clang/scan.ptx")]
pub mod tests_kernels_clang_scan_ptx {
    unsafe extern "C" {
        /// `scan_blocks`
        pub fn scan_blocks(p0: *const u32, p1: *mut u32, p2: *mut u32, p3: u32);

        /// `scan_add`
        pub fn scan_add(p0: *mut u32, p1: *const u32, p2: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/clang/transpose.ptx")]
pub mod tests_kernels_clang_transpose_ptx {
    unsafe extern "C" {
        /// `transpose`
        pub fn transpose(p0: *mut f32, p1: *const f32, p2: u32, p3: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/clang/vecadd.ptx")]
pub mod tests_kernels_clang_vecadd_ptx {
    unsafe extern "C" {
        /// `vecadd`
        pub fn vecadd(p0: &[f32], p2: &[f32], p4: &mut [f32]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/clusters.ptx")]
pub mod tests_kernels_clusters_ptx {
    unsafe extern "C" {
        /// `required_64_2`
        /// Blocks must have exactly (64, 2, 1) threads.
        /// Clusters have (1, 1, 1) blocks.
        pub fn required_64_2(p0: *mut u32);

        /// `blocks_are_clusters`
        /// Blocks must have exactly (64, 1, 1) threads.
        /// Clusters have (2, 1, 1) blocks.
        pub fn blocks_are_clusters(p0: *mut u32);

        /// `max_cluster_8`
        /// Blocks have at most 128 threads.
        pub fn max_cluster_8(p0: *mut u32);

        /// `cluster_indices`
        pub fn cluster_indices(p0: *mut u32);

        /// `pass_on`
        pub fn pass_on(p0: *mut u32);

        /// `cluster_histogram`
        /// Clusters have (2, 1, 1) blocks.
        pub fn cluster_histogram(p0: *const u32, p1: u32, p2: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/control.ptx")]
pub mod tests_kernels_control_ptx {
    unsafe extern "C" {
        /// `collatz`
        pub fn collatz(p0: u32, p1: *mut u32, p2: u32);

        /// `jump_table`
        pub fn jump_table(p0: *const u32, p1: *mut u32, p2: u32);

        /// `primes_below`
        pub fn primes_below(p0: *const u32, p1: *mut u32, p2: u32);

        /// `barriers_in_loop`
        pub fn barriers_in_loop(p0: i32, p1: *mut u32);

        /// `early_returns`
        pub fn early_returns(p0: *mut u32);

        /// `lane_waits_for_lane`
        pub fn lane_waits_for_lane(p0: *mut i32, p1: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/conversions.ptx")]
pub mod tests_kernels_conversions_ptx {
    unsafe extern "C" {
        /// `from_i64`
        pub fn from_i64(p0: *const u64, p1: *mut u64, p2: u32);

        /// `from_f32`
        pub fn from_f32(p0: *const f32, p1: *mut u64, p2: u32);

        /// `from_f64`
        pub fn from_f64(p0: *const f64, p1: *mut u64, p2: u32);

        /// `from_f16`
        pub fn from_f16(p0: *const half::f16, p1: *mut i64, p2: u32);

        /// `saturate_i64`
        pub fn saturate_i64(p0: *const i64, p1: *mut u64, p2: u32);

        /// `integral_f32`
        pub fn integral_f32(p0: *const f32, p1: *mut u64, p2: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/debug/mandelbrot.ptx")]
pub mod tests_kernels_debug_mandelbrot_ptx {
    unsafe extern "C" {
        /// `mandelbrot_f32`
        pub fn mandelbrot_f32(
            out: *mut u32,
            width: u32,
            height: u32,
            x0: f32,
            y0: f32,
            dx: f32,
            dy: f32,
            max_iterations: u32,
        );

        /// `mandelbrot_f64`
        pub fn mandelbrot_f64(
            out: *mut u32,
            width: u32,
            height: u32,
            x0: f64,
            y0: f64,
            dx: f64,
            dy: f64,
            max_iterations: u32,
        );
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/debug/reduce.ptx")]
pub mod tests_kernels_debug_reduce_ptx {
    unsafe extern "C" {
        /// `reduce_f32`
        pub fn reduce_f32(r#in: *const f32, n: u32, partial: *mut f32);

        /// `reduce_f64`
        pub fn reduce_f64(r#in: *const f64, n: u32, partial: *mut f64);

        /// `reduce_u32`
        pub fn reduce_u32(r#in: *const u32, n: u32, partial: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/debug/saxpy.ptx")]
pub mod tests_kernels_debug_saxpy_ptx {
    unsafe extern "C" {
        /// `saxpy`
        pub fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/debug/scan.ptx")]
pub mod tests_kernels_debug_scan_ptx {
    unsafe extern "C" {
        /// `scan_blocks`
        pub fn scan_blocks(r#in: *const u32, out: *mut u32, block_sums: *mut u32, n: u32);

        /// `scan_add`
        pub fn scan_add(out: *mut u32, block_sums: *const u32, n: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/debug/transpose.ptx")]
pub mod tests_kernels_debug_transpose_ptx {
    unsafe extern "C" {
        /// `transpose`
        pub fn transpose(out: *mut f32, r#in: *const f32, width: u32, height: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/debug/vecadd.ptx")]
pub mod tests_kernels_debug_vecadd_ptx {
    unsafe extern "C" {
        /// `vecadd`
        pub fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/fast.ptx")]
pub mod tests_kernels_fast_ptx {
    unsafe extern "C" {
        /// `fast_math`
        pub fn fast_math(p0: *const f32, p1: *const f32, p2: *mut f32, p3: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/faults.ptx")]
pub mod tests_kernels_faults_ptx {
    unsafe extern "C" {
        /// `write_u8`
        pub fn write_u8(p0: &mut [u8], p2: u8);

        /// `read_u8`
        pub fn read_u8(p0: *const u8, p1: u64, p2: *mut u8);

        /// `write_u16`
        pub fn write_u16(p0: &mut [u16], p2: u16);

        /// `read_u16`
        pub fn read_u16(p0: *const u16, p1: u64, p2: *mut u16);

        /// `write_u32`
        pub fn write_u32(p0: &mut [u32], p2: u32);

        /// `read_u32`
        pub fn read_u32(p0: *const u32, p1: u64, p2: *mut u32);

        /// `write_u64`
        pub fn write_u64(p0: &mut [u64], p2: u64);

        /// `read_u64`
        pub fn read_u64(p0: *const u64, p1: u64, p2: *mut u64);

        /// `write_f32`
        pub fn write_f32(p0: &mut [f32], p2: f32);

        /// `read_f32`
        pub fn read_f32(p0: *const f32, p1: u64, p2: *mut f32);

        /// `write_uint2`
        pub fn write_uint2(p0: &mut [u32], p2: [u64; 1]);

        /// `read_uint2`
        pub fn read_uint2(p0: *const u32, p1: u64, p2: *mut u32);

        /// `write_uint4`
        pub fn write_uint4(p0: &mut [u32], p2: [u128; 1]);

        /// `read_uint4`
        pub fn read_uint4(p0: *const u32, p1: u64, p2: *mut u32);

        /// `write_all`
        pub fn write_all(p0: *mut u32);

        /// `write_one_wrong`
        pub fn write_one_wrong(p0: *mut u32, p1: i32, p2: i32, p3: u64);

        /// `atomic_at`
        pub fn atomic_at(p0: &mut [u32]);

        /// `trap_at`
        pub fn trap_at(p0: i32, p1: i32, p2: *mut u32);

        /// `assert_below`
        pub fn assert_below(p0: *const u32, p1: u32, p2: u32);

        /// `shared_write`
        pub fn shared_write(p0: u32, p1: *mut u32);

        /// `shared_misaligned`
        pub fn shared_misaligned(p0: u32, p1: *mut u32);

        /// `dynamic_write`
        /// Uses dynamic shared memory; set its size in the launch configuration.
        pub fn dynamic_write(p0: u32, p1: *mut u32);

        /// `local_write`
        pub fn local_write(p0: u32, p1: *mut u32);

        /// `barrier_after_exit`
        pub fn barrier_after_exit(p0: *mut u32);

        /// `barrier_never_met`
        pub fn barrier_never_met(p0: *mut u32);

        /// `spin_until`
        pub fn spin_until(p0: *const i32);

        /// `delay`
        pub fn delay(p0: u32, p1: *mut u32);

        /// `stack_depth`
        pub fn stack_depth(p0: u32, p1: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/floats.ptx")]
pub mod tests_kernels_floats_ptx {
    unsafe extern "C" {
        /// `rounded_f32`
        pub fn rounded_f32(p0: *const f32, p1: *const f32, p2: *const f32, p3: *mut f32, p4: u32);

        /// `rounded_f64`
        pub fn rounded_f64(p0: *const f64, p1: *const f64, p2: *const f64, p3: *mut f64, p4: u32);

        /// `exact_f32`
        pub fn exact_f32(p0: *const f32, p1: *const f32, p2: *const f32, p3: *mut f32, p4: u32);

        /// `exact_f64`
        pub fn exact_f64(p0: *const f64, p1: *const f64, p2: *const f64, p3: *mut f64, p4: u32);

        /// `approximate_f32`
        pub fn approximate_f32(p0: *const f32, p1: *const f32, p2: u64, p3: *mut f32, p4: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/future.ptx")]
pub mod tests_kernels_future_ptx {
    unsafe extern "C" {
        /// `fill`
        pub fn fill(out: u64, out_len: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/globals.ptx")]
pub mod tests_kernels_globals_ptx {
    unsafe extern "C" {
        /// `polynomial`
        pub fn polynomial(p0: *const f32, p1: *mut f32, p2: u32);

        /// `copy_constant`
        pub fn copy_constant(p0: *mut u32);

        /// `copy_text`
        pub fn copy_text(p0: *mut u8);

        /// `count`
        pub fn count(p0: *mut u32);

        /// `fill_table`
        pub fn fill_table(p0: f32);

        /// `initialised`
        pub fn initialised(p0: *mut u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/half.ptx")]
pub mod tests_kernels_half_ptx {
    unsafe extern "C" {
        /// `arithmetic_f16`
        pub fn arithmetic_f16(
            p0: *const half::f16,
            p1: *const half::f16,
            p2: *const half::f16,
            p3: *mut half::f16,
            p4: u32,
        );

        /// `arithmetic_f16x2`
        pub fn arithmetic_f16x2(
            p0: *const u32,
            p1: *const u32,
            p2: *const u32,
            p3: *mut u32,
            p4: u32,
        );

        /// `axpy_f16x2`
        pub fn axpy_f16x2(p0: [u32; 1], p1: *const u32, p2: *mut u32, p3: u32);

        /// `dot_f16`
        pub fn dot_f16(p0: *const half::f16, p1: *const half::f16, p2: *mut f32, p3: i32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/half90.ptx")]
pub mod tests_kernels_half90_ptx {
    unsafe extern "C" {
        /// `arithmetic_bf16`
        pub fn arithmetic_bf16(
            p0: *const half::bf16,
            p1: *const half::bf16,
            p2: *const half::bf16,
            p3: *mut half::bf16,
            p4: u32,
        );

        /// `arithmetic_bf16x2`
        pub fn arithmetic_bf16x2(
            p0: *const u32,
            p1: *const u32,
            p2: *const u32,
            p3: *mut f32,
            p4: u32,
        );

        /// `later_f16`
        pub fn later_f16(
            p0: *const half::f16,
            p1: *const half::f16,
            p2: *const half::f16,
            p3: *mut half::f16,
            p4: u32,
        );
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/handwritten/addresses.ptx")]
pub mod tests_kernels_handwritten_addresses_ptx {
    unsafe extern "C" {
        /// `shared_loads`
        pub fn shared_loads(out: *mut u32);

        /// `shared_stores`
        pub fn shared_stores(out: *mut u32);

        /// `shared_atomics`
        pub fn shared_atomics(out: *mut u32);

        /// `local_addresses`
        pub fn local_addresses(out: *mut u32);

        /// `shared_copies`
        pub fn shared_copies(out: &mut [u32]);

        /// `shared_mbarrier`
        pub fn shared_mbarrier(out: *mut u32, r#in: *const u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/handwritten/bounds.ptx")]
pub mod tests_kernels_handwritten_bounds_ptx {
    unsafe extern "C" {
        /// `required_64`
        /// Blocks must have exactly (64, 1, 1) threads.
        pub fn required_64(out: *mut u32);

        /// `required_16_4`
        /// Blocks must have exactly (16, 4, 1) threads.
        pub fn required_16_4(out: *mut u32);

        /// `max_8_8`
        /// Blocks have at most 64 threads.
        pub fn max_8_8(out: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/handwritten/branches.ptx")]
pub mod tests_kernels_handwritten_branches_ptx {
    unsafe extern "C" {
        /// `branch_table`
        pub fn branch_table(out: *mut u32);

        /// `call_table`
        pub fn call_table(out: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/handwritten/gemm.ptx")]
pub mod tests_kernels_handwritten_gemm_ptx {
    unsafe extern "C" {
        /// `gemm_f16`
        pub fn gemm_f16(a: u64, b: u64, c: *mut f32, n: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/handwritten/syntax.ptx")]
pub mod tests_kernels_handwritten_syntax_ptx {
    unsafe extern "C" {
        /// `syntax`
        pub fn syntax(out: *mut f32, _odd_name: u32);

        // `pair`: .v2.u32 of 8 bytes

        pub static mut weak_half: u16;
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/handwritten/words.ptx")]
pub mod tests_kernels_handwritten_words_ptx {
    unsafe extern "C" {
        /// `words`
        pub fn words(
            floats: *const f32,
            floats_len: u64,
            scaled: *mut f32,
            scaled_len: u64,
            numbers: *const u32,
            counts: *mut u32,
            pair: [u32; 2],
            n: u32,
            factor: f32,
        );

        /// `rows`
        pub fn rows(image: &[u32], out: &mut [u32], width: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/indices.ptx")]
pub mod tests_kernels_indices_ptx {
    unsafe extern "C" {
        /// `indices`
        pub fn indices(p0: *mut u32);

        /// `clocks`
        pub fn clocks(p0: *mut u32);

        /// `wait_nanoseconds`
        pub fn wait_nanoseconds(p0: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/integers.ptx")]
pub mod tests_kernels_integers_ptx {
    unsafe extern "C" {
        /// `arithmetic_u32`
        pub fn arithmetic_u32(
            p0: *const u32,
            p1: *const u32,
            p2: *const u32,
            p3: *mut u32,
            p4: u32,
        );

        /// `arithmetic_i32`
        pub fn arithmetic_i32(
            p0: *const i32,
            p1: *const i32,
            p2: *const u32,
            p3: *mut i32,
            p4: u32,
        );

        /// `carry_i32`
        pub fn carry_i32(p0: *const u32, p1: *const u32, p2: *const u32, p3: *mut u32, p4: u32);

        /// `bits_u32`
        pub fn bits_u32(p0: *const u32, p1: *const u32, p2: *const u32, p3: *mut u32, p4: u32);

        /// `special_u32`
        pub fn special_u32(p0: *const u32, p1: *const u32, p2: *const u32, p3: *mut u32, p4: u32);

        /// `arithmetic_u64`
        pub fn arithmetic_u64(
            p0: *const u64,
            p1: *const u64,
            p2: *const u64,
            p3: *mut u64,
            p4: u32,
        );

        /// `arithmetic_small`
        pub fn arithmetic_small(
            p0: *const u16,
            p1: *const u16,
            p2: *const u16,
            p3: *mut u16,
            p4: u32,
        );

        /// `divide_by_zero`
        pub fn divide_by_zero(p0: *const u32, p1: u32, p2: *mut i32, p3: u32);

        /// `divisions_128`
        pub fn divisions_128(p0: *const u64, p1: *const u64, p2: *const u64, p3: *mut u64, p4: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/library.ptx")]
pub mod tests_kernels_library_ptx {
    unsafe extern "C" {
        /// `library_f32`
        pub fn library_f32(p0: *const f32, p1: *const f32, p2: *const f32, p3: *mut f32, p4: u32);

        /// `library_f64`
        pub fn library_f64(p0: *const f64, p1: *const f64, p2: u64, p3: *mut f64, p4: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/lineinfo/fill.ptx")]
pub mod tests_kernels_lineinfo_fill_ptx {
    unsafe extern "C" {
        /// `fill`
        pub fn fill(p0: *mut u32, p1: u32, p2: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/lineinfo/histogram.ptx")]
pub mod tests_kernels_lineinfo_histogram_ptx {
    unsafe extern "C" {
        /// `histogram_global`
        pub fn histogram_global(p0: *const u8, p1: u32, p2: *mut u32);

        /// `histogram_shared`
        pub fn histogram_shared(p0: *const u8, p1: u32, p2: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/lineinfo/mandelbrot.ptx")]
pub mod tests_kernels_lineinfo_mandelbrot_ptx {
    unsafe extern "C" {
        /// `mandelbrot_f32`
        pub fn mandelbrot_f32(
            p0: *mut u32,
            p1: u32,
            p2: u32,
            p3: f32,
            p4: f32,
            p5: f32,
            p6: f32,
            p7: u32,
        );

        /// `mandelbrot_f64`
        pub fn mandelbrot_f64(
            p0: *mut u32,
            p1: u32,
            p2: u32,
            p3: f64,
            p4: f64,
            p5: f64,
            p6: f64,
            p7: u32,
        );
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/lineinfo/matmul.ptx")]
pub mod tests_kernels_lineinfo_matmul_ptx {
    unsafe extern "C" {
        /// `matmul_naive`
        pub fn matmul_naive(
            p0: *const f32,
            p1: *const f32,
            p2: *mut f32,
            p3: u32,
            p4: u32,
            p5: i32,
        );

        /// `matmul`
        pub fn matmul(p0: *const f32, p1: *const f32, p2: *mut f32, p3: u32, p4: u32, p5: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/lineinfo/mix.ptx")]
pub mod tests_kernels_lineinfo_mix_ptx {
    unsafe extern "C" {
        /// `mix`
        pub fn mix(p0: [u64; 5], p1: *const f32, p2: *mut f32, p3: u32, p4: f32);

        /// `apply`
        pub fn apply(p0: [u32; 1], p1: &mut [u32]);

        /// `ranks`
        pub fn ranks(p0: &mut [u32]);

        /// `ranks_fixed`
        /// Clusters have (4, 1, 1) blocks.
        pub fn ranks_fixed(p0: &mut [u32]);

        /// `grid_sum`
        pub fn grid_sum(p0: *const u32, p1: u32, p2: *mut u32, p3: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/lineinfo/reduce.ptx")]
pub mod tests_kernels_lineinfo_reduce_ptx {
    unsafe extern "C" {
        /// `reduce_f32`
        pub fn reduce_f32(p0: *const f32, p1: u32, p2: *mut f32);

        /// `reduce_f64`
        pub fn reduce_f64(p0: *const f64, p1: u32, p2: *mut f64);

        /// `reduce_u32`
        pub fn reduce_u32(p0: *const u32, p1: u32, p2: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/lineinfo/saxpy.ptx")]
pub mod tests_kernels_lineinfo_saxpy_ptx {
    unsafe extern "C" {
        /// `saxpy`
        pub fn saxpy(p0: u32, p1: f32, p2: *const f32, p3: *mut f32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/lineinfo/scan.ptx")]
pub mod tests_kernels_lineinfo_scan_ptx {
    unsafe extern "C" {
        /// `scan_blocks`
        pub fn scan_blocks(p0: *const u32, p1: *mut u32, p2: *mut u32, p3: u32);

        /// `scan_add`
        pub fn scan_add(p0: *mut u32, p1: *const u32, p2: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/lineinfo/transpose.ptx")]
pub mod tests_kernels_lineinfo_transpose_ptx {
    unsafe extern "C" {
        /// `transpose`
        pub fn transpose(p0: *mut f32, p1: *const f32, p2: u32, p3: u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/lineinfo/vecadd.ptx")]
pub mod tests_kernels_lineinfo_vecadd_ptx {
    unsafe extern "C" {
        /// `vecadd`
        pub fn vecadd(p0: &[f32], p2: &[f32], p4: &mut [f32]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/local.ptx")]
pub mod tests_kernels_local_ptx {
    unsafe extern "C" {
        /// `sort_16`
        pub fn sort_16(p0: *const u32, p1: *mut u32);

        /// `digits`
        pub fn digits(p0: *const u32, p1: *mut f64);

        /// `nth_value`
        pub fn nth_value(p0: *const u32, p1: u32, p2: u32, p3: *mut f32);

        /// `any_space`
        pub fn any_space(p0: *mut u32, p1: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/memory.ptx")]
pub mod tests_kernels_memory_ptx {
    unsafe extern "C" {
        /// `copy_u8`
        pub fn copy_u8(p0: *const u8, p1: *mut u8, p2: u32);

        /// `copy_u16`
        pub fn copy_u16(p0: *const u16, p1: *mut u16, p2: u32);

        /// `copy_u32`
        pub fn copy_u32(p0: *const u32, p1: *mut u32, p2: u32);

        /// `copy_u64`
        pub fn copy_u64(p0: *const u64, p1: *mut u64, p2: u32);

        /// `copy_uchar2`
        pub fn copy_uchar2(p0: *const u16, p1: *mut u16, p2: u32);

        /// `copy_uchar4`
        pub fn copy_uchar4(p0: *const u32, p1: *mut u32, p2: u32);

        /// `copy_ushort2`
        pub fn copy_ushort2(p0: *const u32, p1: *mut u32, p2: u32);

        /// `copy_ushort4`
        pub fn copy_ushort4(p0: *const u32, p1: *mut u32, p2: u32);

        /// `copy_uint2`
        pub fn copy_uint2(p0: *const u32, p1: *mut u32, p2: u32);

        /// `copy_uint4`
        pub fn copy_uint4(p0: *const u32, p1: *mut u32, p2: u32);

        /// `copy_ulonglong2`
        pub fn copy_ulonglong2(p0: *const u32, p1: *mut u32, p2: u32);

        /// `copy_float4`
        pub fn copy_float4(p0: *const u32, p1: *mut u32, p2: u32);

        /// `copy_double2`
        pub fn copy_double2(p0: *const u32, p1: *mut u32, p2: u32);

        /// `extend`
        pub fn extend(p0: *const u32, p1: *mut u64, p2: u32);

        /// `hints`
        pub fn hints(p0: *const u32, p1: *mut u32, p2: u32);

        /// `copy_bytes`
        pub fn copy_bytes(p0: *const u8, p1: *mut u8, p2: u32);

        /// `move_elements`
        pub fn move_elements(p0: *const f32, p1: *mut u32, p2: u32);

        /// `walk_list`
        pub fn walk_list(p0: *const i64, p1: *mut u32);

        /// `gather_rows`
        pub fn gather_rows(p0: *const u64, p1: u32, p2: u32, p3: *mut f32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/objects.ptx")]
pub mod tests_kernels_objects_ptx {
    /// 128 bytes, aligned to 64.
    #[repr(C, align(64))]
    #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    pub struct MapWordsP0(pub [u8; 128]);

    unsafe extern "C" {
        /// `sample`
        pub fn sample(texture: u64, out: &mut [f32]);

        /// `fetch`
        pub fn fetch(texture: u64, out: &mut [f32]);

        /// `add_one`
        pub fn add_one(source: u64, target: u64);

        /// `map_words`
        pub fn map_words(map: MapWordsP0, out: &mut [u64]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/ordering.ptx")]
pub mod tests_kernels_ordering_ptx {
    unsafe extern "C" {
        /// `step`
        pub fn step(x: &mut [u32], m: u32, a: u32);

        /// `collect`
        pub fn collect(y: &mut [u32], x: &[u32]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/parameters.ptx")]
pub mod tests_kernels_parameters_ptx {
    /// 32 bytes, aligned to 32.
    #[repr(C, align(32))]
    #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    pub struct OneAlign32P0(pub [u8; 32]);

    /// 64 bytes, aligned to 64.
    #[repr(C, align(64))]
    #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    pub struct OneAlign64P0(pub [u8; 64]);

    /// 128 bytes, aligned to 128.
    #[repr(C, align(128))]
    #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    pub struct OneAlign128P0(pub [u8; 128]);

    /// 32 bytes, aligned to 32.
    #[repr(C, align(32))]
    #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    pub struct OverAlignedP1(pub [u8; 32]);

    /// 64 bytes, aligned to 64.
    #[repr(C, align(64))]
    #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    pub struct OverAlignedP3(pub [u8; 64]);

    /// 128 bytes, aligned to 128.
    #[repr(C, align(128))]
    #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    pub struct OverAlignedP5(pub [u8; 128]);

    unsafe extern "C" {
        /// `one_bool`
        pub fn one_bool(p0: u8, p1: *mut u8);

        /// `one_i8`
        pub fn one_i8(p0: u8, p1: *mut u8);

        /// `one_u8`
        pub fn one_u8(p0: u8, p1: *mut u8);

        /// `one_i16`
        pub fn one_i16(p0: u16, p1: *mut u16);

        /// `one_u16`
        pub fn one_u16(p0: u16, p1: *mut u16);

        /// `one_i32`
        pub fn one_i32(p0: u32, p1: *mut u32);

        /// `one_u32`
        pub fn one_u32(p0: u32, p1: *mut u32);

        /// `one_i64`
        pub fn one_i64(p0: u64, p1: *mut u64);

        /// `one_u64`
        pub fn one_u64(p0: u64, p1: *mut u64);

        /// `one_f32`
        pub fn one_f32(p0: f32, p1: *mut f32);

        /// `one_f64`
        pub fn one_f64(p0: f64, p1: *mut f64);

        /// `one_f16`
        pub fn one_f16(p0: [u16; 1], p1: *mut u16);

        /// `one_bf16`
        pub fn one_bf16(p0: [u16; 1], p1: *mut u16);

        /// `one_u128`
        pub fn one_u128(p0: [u128; 1], p1: *mut u64);

        /// `one_pointer`
        pub fn one_pointer(p0: u64, p1: *mut u64);

        /// `one_float2`
        pub fn one_float2(p0: [u64; 1], p1: *mut f32);

        /// `one_float3`
        pub fn one_float3(p0: [u32; 3], p1: *mut f32);

        /// `one_float4`
        pub fn one_float4(p0: [u128; 1], p1: *mut f32);

        /// `one_uchar3`
        pub fn one_uchar3(p0: [u8; 3], p1: *mut u8);

        /// `one_short4`
        pub fn one_short4(p0: [u64; 1], p1: *mut u16);

        /// `one_double2`
        pub fn one_double2(p0: [u128; 1], p1: *mut f64);

        /// `one_align1`
        pub fn one_align1(p0: [u8; 1], p1: *mut u8);

        /// `one_align2`
        pub fn one_align2(p0: [u16; 1], p1: *mut u8);

        /// `one_align4`
        pub fn one_align4(p0: [u32; 1], p1: *mut u8);

        /// `one_align8`
        pub fn one_align8(p0: [u64; 1], p1: *mut u32);

        /// `one_align16`
        pub fn one_align16(p0: [u128; 1], p1: *mut u32);

        /// `one_align32`
        pub fn one_align32(p0: OneAlign32P0, p1: *mut u32);

        /// `one_align64`
        pub fn one_align64(p0: OneAlign64P0, p1: *mut u8);

        /// `one_align128`
        pub fn one_align128(p0: OneAlign128P0, p1: *mut u8);

        /// `one_array_i32x4`
        pub fn one_array_i32x4(p0: [u32; 4], p1: *mut u32);

        /// `one_array_u8x3`
        pub fn one_array_u8x3(p0: [u8; 3], p1: *mut u8);

        /// `one_array_f64x3`
        pub fn one_array_f64x3(p0: [u64; 3], p1: *mut f64);

        /// `one_twelve`
        pub fn one_twelve(p0: [u32; 3], p1: *mut u32);

        /// `one_padded`
        pub fn one_padded(p0: [u64; 3], p1: *mut u8);

        /// `one_nested`
        pub fn one_nested(p0: [u64; 7], p1: *mut u8);

        /// `none`
        pub fn none();

        /// `empty_struct`
        pub fn empty_struct(p0: [u8; 1], p1: *mut u32);

        /// `scalars`
        pub fn scalars(
            p0: u8,
            p1: u8,
            p2: u8,
            p3: u16,
            p4: u16,
            p5: u32,
            p6: u32,
            p7: u64,
            p8: u64,
            p9: f32,
            p10: f64,
            p11: *mut i64,
        );

        /// `mixed`
        pub fn mixed(
            p0: u8,
            p1: f64,
            p2: u8,
            p3: [u16; 2],
            p4: [u32; 3],
            p5: [u128; 1],
            p6: [u8; 1],
            p7: u64,
            p8: u16,
            p9: *mut u8,
        );

        /// `over_aligned`
        pub fn over_aligned(
            p0: u32,
            p1: OverAlignedP1,
            p2: u32,
            p3: OverAlignedP3,
            p4: u32,
            p5: OverAlignedP5,
            p6: *mut u8,
        );

        /// `seven`
        pub fn seven(p0: u64, p1: u64, p2: u64, p3: u64, p4: u64, p5: u64, p6: u32);

        /// `u32_f64`
        pub fn u32_f64(p0: u32, p1: f64, p2: *mut u64);

        /// `f64_u32`
        pub fn f64_u32(p0: f64, p1: u32, p2: *mut u64);

        /// `f32_u32`
        pub fn f32_u32(p0: f32, p1: u32, p2: *mut u64);

        /// `grid_constant`
        pub fn grid_constant(p0: [u32; 16], p1: *mut f32);

        /// `indexed`
        pub fn indexed(p0: [u32; 16], p1: *mut f32);

        /// `changed`
        pub fn changed(p0: [u32; 16], p1: *mut f32);

        /// `many_25`
        pub fn many_25(
            p0: u8,
            p1: u16,
            p2: u32,
            p3: u64,
            p4: f32,
            p5: f64,
            p6: u8,
            p7: u16,
            p8: u32,
            p9: u64,
            p10: f32,
            p11: f64,
            p12: u8,
            p13: u16,
            p14: u32,
            p15: u64,
            p16: f32,
            p17: f64,
            p18: u8,
            p19: u16,
            p20: u32,
            p21: u64,
            p22: f32,
            p23: f64,
            p24: *mut u64,
        );

        /// `many_100`
        pub fn many_100(
            p0: u32,
            p1: u32,
            p2: u32,
            p3: u32,
            p4: u32,
            p5: u32,
            p6: u32,
            p7: u32,
            p8: u32,
            p9: u32,
            p10: u32,
            p11: u32,
            p12: u32,
            p13: u32,
            p14: u32,
            p15: u32,
            p16: u32,
            p17: u32,
            p18: u32,
            p19: u32,
            p20: u32,
            p21: u32,
            p22: u32,
            p23: u32,
            p24: u32,
            p25: u32,
            p26: u32,
            p27: u32,
            p28: u32,
            p29: u32,
            p30: u32,
            p31: u32,
            p32: u32,
            p33: u32,
            p34: u32,
            p35: u32,
            p36: u32,
            p37: u32,
            p38: u32,
            p39: u32,
            p40: u32,
            p41: u32,
            p42: u32,
            p43: u32,
            p44: u32,
            p45: u32,
            p46: u32,
            p47: u32,
            p48: u32,
            p49: u32,
            p50: u32,
            p51: u32,
            p52: u32,
            p53: u32,
            p54: u32,
            p55: u32,
            p56: u32,
            p57: u32,
            p58: u32,
            p59: u32,
            p60: u32,
            p61: u32,
            p62: u32,
            p63: u32,
            p64: u32,
            p65: u32,
            p66: u32,
            p67: u32,
            p68: u32,
            p69: u32,
            p70: u32,
            p71: u32,
            p72: u32,
            p73: u32,
            p74: u32,
            p75: u32,
            p76: u32,
            p77: u32,
            p78: u32,
            p79: u32,
            p80: u32,
            p81: u32,
            p82: u32,
            p83: u32,
            p84: u32,
            p85: u32,
            p86: u32,
            p87: u32,
            p88: u32,
            p89: u32,
            p90: u32,
            p91: u32,
            p92: u32,
            p93: u32,
            p94: u32,
            p95: u32,
            p96: u32,
            p97: u32,
            p98: u32,
            p99: *mut u32,
        );

        /// `bytes_4096`
        pub fn bytes_4096(p0: [u32; 1022], p1: *mut u32);

        /// `bytes_4104`
        pub fn bytes_4104(p0: [u32; 1024], p1: *mut u32);

        /// `bytes_32764`
        pub fn bytes_32764(p0: [u32; 8191]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/print.ptx")]
pub mod tests_kernels_print_ptx {
    unsafe extern "C" {
        /// `hello`
        pub fn hello();

        /// `formats`
        pub fn formats(p0: f64, p1: u64);

        /// `pointer`
        pub fn pointer(p0: u64);

        /// `result`
        pub fn result(p0: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/shared.ptx")]
pub mod tests_kernels_shared_ptx {
    unsafe extern "C" {
        /// `static_1k`
        pub fn static_1k(p0: *mut u32);

        /// `static_48k`
        pub fn static_48k(p0: *mut u32);

        /// `dynamic_reverse`
        /// Uses dynamic shared memory; set its size in the launch configuration.
        pub fn dynamic_reverse(p0: u32, p1: *mut u32);

        /// `static_1k_and_dynamic`
        /// Uses dynamic shared memory; set its size in the launch configuration.
        pub fn static_1k_and_dynamic(p0: u32, p1: *mut u32);

        /// `dynamic_100k`
        /// Uses dynamic shared memory; set its size in the launch configuration.
        pub fn dynamic_100k(p0: *mut u32);

        /// `carved`
        /// Uses dynamic shared memory; set its size in the launch configuration.
        pub fn carved(p0: u32, p1: *mut f64);

        /// `shared_sizes`
        pub fn shared_sizes(p0: *mut u32);

        /// `counting_barriers`
        pub fn counting_barriers(p0: *const u32, p1: *mut u32);

        /// `produce_consume`
        pub fn produce_consume(p0: i32, p1: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/textures.ptx")]
pub mod tests_kernels_textures_ptx {
    /// 128 bytes, aligned to 64.
    #[repr(C, align(64))]
    #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    pub struct MapWordsP0(pub [u8; 128]);

    unsafe extern "C" {
        /// `sample_2d`
        pub fn sample_2d(texture: u64, out: *mut f32, width: u32, x0: f32, y0: f32, step: f32);

        /// `sample_1d`
        pub fn sample_1d(texture: u64, out: *mut f32, x0: f32, step: f32);

        /// `fetch_1d`
        pub fn fetch_1d(texture: u64, out: *mut u32, count: u32);

        /// `sample_3d`
        pub fn sample_3d(texture: u64, out: *mut f32);

        /// `sample_layers`
        pub fn sample_layers(texture: u64, out: *mut f32);

        /// `sample_level`
        pub fn sample_level(texture: u64, out: *mut f32, step: f32);

        /// `add_one`
        pub fn add_one(source: u64, target: u64);

        /// `shift_right`
        pub fn shift_right(source: u64, target: u64);

        /// `map_words`
        pub fn map_words(map: MapWordsP0, out: *mut u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/typed.ptx")]
pub mod tests_kernels_typed_ptx {
    unsafe extern "C" {
        /// `scale_float`
        pub fn scale_float(p0: &mut [f32], p2: f32);

        /// `scale_double`
        pub fn scale_double(p0: &mut [f64], p2: f64);

        /// `scale_int`
        pub fn scale_int(p0: &mut [u32], p2: u32);

        /// `convert_float_int`
        pub fn convert_float_int(p0: &[f32], p2: &mut [i32]);

        /// `convert_int_float`
        pub fn convert_int_float(p0: &[i32], p2: &mut [f32]);

        /// `bounded`
        /// Blocks have at most 128 threads.
        pub fn bounded(p0: &mut [u32]);

        /// `dynamic`
        pub fn dynamic(p0: *mut u32, p1: i64);

        /// `variables`
        pub fn variables(p0: &mut [f32]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/vecadd.fatbin")]
pub mod tests_kernels_vecadd_fatbin {
    unsafe extern "C" {
        /// `vecadd`
        pub fn vecadd(p0: &[f32], p2: &[f32], p4: &mut [f32]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/vecadd_link.fatbin")]
pub mod tests_kernels_vecadd_link_fatbin {
    unsafe extern "C" {
        /// `vecadd`
        pub fn vecadd(p0: &[f32], p2: &[f32], p4: &mut [f32]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/vecadd_plain.fatbin")]
pub mod tests_kernels_vecadd_plain_fatbin {
    unsafe extern "C" {
        /// `vecadd`
        pub fn vecadd(p0: &[f32], p2: &[f32], p4: &mut [f32]);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/vecadd_sm80.cubin")]
pub mod tests_kernels_vecadd_sm80_cubin {
    unsafe extern "C" {
        /// `vecadd`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn vecadd(p0: u64, p1: u64, p2: u64, p3: u64, p4: u64, p5: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/vecadd_sm90.cubin")]
pub mod tests_kernels_vecadd_sm90_cubin {
    unsafe extern "C" {
        /// `vecadd`
        /// The image records only the size of some parameters: their types here are a guess.
        pub fn vecadd(p0: u64, p1: u64, p2: u64, p3: u64, p4: u64, p5: u64);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/warp.ptx")]
pub mod tests_kernels_warp_ptx {
    unsafe extern "C" {
        /// `shuffle`
        pub fn shuffle(p0: *const u32, p1: *mut u32);

        /// `vote_and_match`
        pub fn vote_and_match(p0: *const u32, p1: *mut u32);

        /// `part_of_warp`
        pub fn part_of_warp(p0: *const u32, p1: *mut u32);

        /// `lane_masks`
        pub fn lane_masks(p0: *const u32, p1: *mut u32);
    }
}

// Written by `cuda-launch bind`. The image says how many parameters there are
// and how large; what they mean was read from the code. Compare it with the
// kernel's source, then change what is wrong.
#[cuda_launch::cuda_module("tests/kernels/warp80.ptx")]
pub mod tests_kernels_warp80_ptx {
    unsafe extern "C" {
        /// `warp_reduce`
        pub fn warp_reduce(p0: *const u32, p1: *mut u32);
    }
}

/// Every module, by its image: what loads it and looks up its kernels.
pub type Load = fn(&cuda_launch::CudaContext) -> Result<(), cuda_launch::Error>;
pub const MODULES: &[(&str, Load)] = &[
    ("examples/kernels/fill.ptx", |context| examples_kernels_fill_ptx::load(context).map(drop)),
    ("examples/kernels/histogram.ptx", |context| examples_kernels_histogram_ptx::load(context).map(drop)),
    ("examples/kernels/mandelbrot.ptx", |context| examples_kernels_mandelbrot_ptx::load(context).map(drop)),
    ("examples/kernels/matmul.ptx", |context| examples_kernels_matmul_ptx::load(context).map(drop)),
    ("examples/kernels/mix.ptx", |context| examples_kernels_mix_ptx::load(context).map(drop)),
    ("examples/kernels/reduce.ptx", |context| examples_kernels_reduce_ptx::load(context).map(drop)),
    ("examples/kernels/saxpy.ptx", |context| examples_kernels_saxpy_ptx::load(context).map(drop)),
    ("examples/kernels/scale.ptx", |context| examples_kernels_scale_ptx::load(context).map(drop)),
    ("examples/kernels/scan.ptx", |context| examples_kernels_scan_ptx::load(context).map(drop)),
    ("examples/kernels/sin.ptx", |context| examples_kernels_sin_ptx::load(context).map(drop)),
    ("examples/kernels/strided_copy.ptx", |context| examples_kernels_strided_copy_ptx::load(context).map(drop)),
    ("examples/kernels/transpose.ptx", |context| examples_kernels_transpose_ptx::load(context).map(drop)),
    ("examples/kernels/typed.ptx", |context| examples_kernels_typed_ptx::load(context).map(drop)),
    ("examples/kernels/vecadd.ptx", |context| examples_kernels_vecadd_ptx::load(context).map(drop)),
    ("ptx/tests/data/archs.ptx", |context| ptx_tests_data_archs_ptx::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_100.cubin", |context| ptx_tests_data_archs_sm_100_cubin::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_103.cubin", |context| ptx_tests_data_archs_sm_103_cubin::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_110.cubin", |context| ptx_tests_data_archs_sm_110_cubin::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_120.cubin", |context| ptx_tests_data_archs_sm_120_cubin::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_121.cubin", |context| ptx_tests_data_archs_sm_121_cubin::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_75.cubin", |context| ptx_tests_data_archs_sm_75_cubin::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_80.cubin", |context| ptx_tests_data_archs_sm_80_cubin::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_86.cubin", |context| ptx_tests_data_archs_sm_86_cubin::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_87.cubin", |context| ptx_tests_data_archs_sm_87_cubin::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_88.cubin", |context| ptx_tests_data_archs_sm_88_cubin::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_89.cubin", |context| ptx_tests_data_archs_sm_89_cubin::load(context).map(drop)),
    ("ptx/tests/data/archs.sm_90.cubin", |context| ptx_tests_data_archs_sm_90_cubin::load(context).map(drop)),
    ("ptx/tests/data/attributes.sm_90.cubin", |context| ptx_tests_data_attributes_sm_90_cubin::load(context).map(drop)),
    ("ptx/tests/data/basic.debug.ptx", |context| ptx_tests_data_basic_debug_ptx::load(context).map(drop)),
    ("ptx/tests/data/basic.lto.fatbin", |context| ptx_tests_data_basic_lto_fatbin::load(context).map(drop)),
    ("ptx/tests/data/basic.lz4.fatbin", |context| ptx_tests_data_basic_lz4_fatbin::load(context).map(drop)),
    ("ptx/tests/data/basic.plain.fatbin", |context| ptx_tests_data_basic_plain_fatbin::load(context).map(drop)),
    ("ptx/tests/data/basic.ptx", |context| ptx_tests_data_basic_ptx::load(context).map(drop)),
    ("ptx/tests/data/basic.rdc.cubin", |context| ptx_tests_data_basic_rdc_cubin::load(context).map(drop)),
    ("ptx/tests/data/basic.sm_100.ptx", |context| ptx_tests_data_basic_sm_100_ptx::load(context).map(drop)),
    ("ptx/tests/data/basic.sm_100a.cubin", |context| ptx_tests_data_basic_sm_100a_cubin::load(context).map(drop)),
    ("ptx/tests/data/basic.sm_75.cubin", |context| ptx_tests_data_basic_sm_75_cubin::load(context).map(drop)),
    ("ptx/tests/data/basic.sm_90.cubin", |context| ptx_tests_data_basic_sm_90_cubin::load(context).map(drop)),
    ("ptx/tests/data/basic.sm_90a.cubin", |context| ptx_tests_data_basic_sm_90a_cubin::load(context).map(drop)),
    ("ptx/tests/data/basic.suffixes.fatbin", |context| ptx_tests_data_basic_suffixes_fatbin::load(context).map(drop)),
    ("ptx/tests/data/basic.zstd.fatbin", |context| ptx_tests_data_basic_zstd_fatbin::load(context).map(drop)),
    ("ptx/tests/data/cluster.ptx", |context| ptx_tests_data_cluster_ptx::load(context).map(drop)),
    ("ptx/tests/data/cluster.sm_100.ptx", |context| ptx_tests_data_cluster_sm_100_ptx::load(context).map(drop)),
    ("ptx/tests/data/cluster.sm_90.cubin", |context| ptx_tests_data_cluster_sm_90_cubin::load(context).map(drop)),
    ("ptx/tests/data/features.lineinfo.ptx", |context| ptx_tests_data_features_lineinfo_ptx::load(context).map(drop)),
    ("ptx/tests/data/features.ptx", |context| ptx_tests_data_features_ptx::load(context).map(drop)),
    ("ptx/tests/data/features.sm_100.ptx", |context| ptx_tests_data_features_sm_100_ptx::load(context).map(drop)),
    ("ptx/tests/data/features.sm_90.cubin", |context| ptx_tests_data_features_sm_90_cubin::load(context).map(drop)),
    ("ptx/tests/data/legacy.ptx", |context| ptx_tests_data_legacy_ptx::load(context).map(drop)),
    ("ptx/tests/data/legacy.sm_50.cubin", |context| ptx_tests_data_legacy_sm_50_cubin::load(context).map(drop)),
    ("ptx/tests/data/legacy.sm_90a.cubin", |context| ptx_tests_data_legacy_sm_90a_cubin::load(context).map(drop)),
    ("ptx/tests/data/named.clang.ptx", |context| ptx_tests_data_named_clang_ptx::load(context).map(drop)),
    ("ptx/tests/data/named.debug.ptx", |context| ptx_tests_data_named_debug_ptx::load(context).map(drop)),
    ("ptx/tests/data/named.debug.sm_90.cubin", |context| ptx_tests_data_named_debug_sm_90_cubin::load(context).map(drop)),
    ("ptx/tests/data/rust.debug.ptx", |context| ptx_tests_data_rust_debug_ptx::load(context).map(drop)),
    ("ptx/tests/data/rust.ptx", |context| ptx_tests_data_rust_ptx::load(context).map(drop)),
    ("tests/kernels/atomics.ptx", |context| tests_kernels_atomics_ptx::load(context).map(drop)),
    ("tests/kernels/bounds.ptx", |context| tests_kernels_bounds_ptx::load(context).map(drop)),
    ("tests/kernels/calls.ptx", |context| tests_kernels_calls_ptx::load(context).map(drop)),
    ("tests/kernels/clang/histogram.ptx", |context| tests_kernels_clang_histogram_ptx::load(context).map(drop)),
    ("tests/kernels/clang/mandelbrot.ptx", |context| tests_kernels_clang_mandelbrot_ptx::load(context).map(drop)),
    ("tests/kernels/clang/matmul.ptx", |context| tests_kernels_clang_matmul_ptx::load(context).map(drop)),
    ("tests/kernels/clang/reduce.ptx", |context| tests_kernels_clang_reduce_ptx::load(context).map(drop)),
    ("tests/kernels/clang/saxpy.ptx", |context| tests_kernels_clang_saxpy_ptx::load(context).map(drop)),
    ("tests/kernels/clang/scan.ptx", |context| tests_kernels_clang_scan_ptx::load(context).map(drop)),
    ("tests/kernels/clang/transpose.ptx", |context| tests_kernels_clang_transpose_ptx::load(context).map(drop)),
    ("tests/kernels/clang/vecadd.ptx", |context| tests_kernels_clang_vecadd_ptx::load(context).map(drop)),
    ("tests/kernels/clusters.ptx", |context| tests_kernels_clusters_ptx::load(context).map(drop)),
    ("tests/kernels/control.ptx", |context| tests_kernels_control_ptx::load(context).map(drop)),
    ("tests/kernels/conversions.ptx", |context| tests_kernels_conversions_ptx::load(context).map(drop)),
    ("tests/kernels/debug/mandelbrot.ptx", |context| tests_kernels_debug_mandelbrot_ptx::load(context).map(drop)),
    ("tests/kernels/debug/reduce.ptx", |context| tests_kernels_debug_reduce_ptx::load(context).map(drop)),
    ("tests/kernels/debug/saxpy.ptx", |context| tests_kernels_debug_saxpy_ptx::load(context).map(drop)),
    ("tests/kernels/debug/scan.ptx", |context| tests_kernels_debug_scan_ptx::load(context).map(drop)),
    ("tests/kernels/debug/transpose.ptx", |context| tests_kernels_debug_transpose_ptx::load(context).map(drop)),
    ("tests/kernels/debug/vecadd.ptx", |context| tests_kernels_debug_vecadd_ptx::load(context).map(drop)),
    ("tests/kernels/fast.ptx", |context| tests_kernels_fast_ptx::load(context).map(drop)),
    ("tests/kernels/faults.ptx", |context| tests_kernels_faults_ptx::load(context).map(drop)),
    ("tests/kernels/floats.ptx", |context| tests_kernels_floats_ptx::load(context).map(drop)),
    ("tests/kernels/future.ptx", |context| tests_kernels_future_ptx::load(context).map(drop)),
    ("tests/kernels/globals.ptx", |context| tests_kernels_globals_ptx::load(context).map(drop)),
    ("tests/kernels/half.ptx", |context| tests_kernels_half_ptx::load(context).map(drop)),
    ("tests/kernels/half90.ptx", |context| tests_kernels_half90_ptx::load(context).map(drop)),
    ("tests/kernels/handwritten/addresses.ptx", |context| tests_kernels_handwritten_addresses_ptx::load(context).map(drop)),
    ("tests/kernels/handwritten/bounds.ptx", |context| tests_kernels_handwritten_bounds_ptx::load(context).map(drop)),
    ("tests/kernels/handwritten/branches.ptx", |context| tests_kernels_handwritten_branches_ptx::load(context).map(drop)),
    ("tests/kernels/handwritten/gemm.ptx", |context| tests_kernels_handwritten_gemm_ptx::load(context).map(drop)),
    ("tests/kernels/handwritten/syntax.ptx", |context| tests_kernels_handwritten_syntax_ptx::load(context).map(drop)),
    ("tests/kernels/handwritten/words.ptx", |context| tests_kernels_handwritten_words_ptx::load(context).map(drop)),
    ("tests/kernels/indices.ptx", |context| tests_kernels_indices_ptx::load(context).map(drop)),
    ("tests/kernels/integers.ptx", |context| tests_kernels_integers_ptx::load(context).map(drop)),
    ("tests/kernels/library.ptx", |context| tests_kernels_library_ptx::load(context).map(drop)),
    ("tests/kernels/lineinfo/fill.ptx", |context| tests_kernels_lineinfo_fill_ptx::load(context).map(drop)),
    ("tests/kernels/lineinfo/histogram.ptx", |context| tests_kernels_lineinfo_histogram_ptx::load(context).map(drop)),
    ("tests/kernels/lineinfo/mandelbrot.ptx", |context| tests_kernels_lineinfo_mandelbrot_ptx::load(context).map(drop)),
    ("tests/kernels/lineinfo/matmul.ptx", |context| tests_kernels_lineinfo_matmul_ptx::load(context).map(drop)),
    ("tests/kernels/lineinfo/mix.ptx", |context| tests_kernels_lineinfo_mix_ptx::load(context).map(drop)),
    ("tests/kernels/lineinfo/reduce.ptx", |context| tests_kernels_lineinfo_reduce_ptx::load(context).map(drop)),
    ("tests/kernels/lineinfo/saxpy.ptx", |context| tests_kernels_lineinfo_saxpy_ptx::load(context).map(drop)),
    ("tests/kernels/lineinfo/scan.ptx", |context| tests_kernels_lineinfo_scan_ptx::load(context).map(drop)),
    ("tests/kernels/lineinfo/transpose.ptx", |context| tests_kernels_lineinfo_transpose_ptx::load(context).map(drop)),
    ("tests/kernels/lineinfo/vecadd.ptx", |context| tests_kernels_lineinfo_vecadd_ptx::load(context).map(drop)),
    ("tests/kernels/local.ptx", |context| tests_kernels_local_ptx::load(context).map(drop)),
    ("tests/kernels/memory.ptx", |context| tests_kernels_memory_ptx::load(context).map(drop)),
    ("tests/kernels/objects.ptx", |context| tests_kernels_objects_ptx::load(context).map(drop)),
    ("tests/kernels/ordering.ptx", |context| tests_kernels_ordering_ptx::load(context).map(drop)),
    ("tests/kernels/parameters.ptx", |context| tests_kernels_parameters_ptx::load(context).map(drop)),
    ("tests/kernels/print.ptx", |context| tests_kernels_print_ptx::load(context).map(drop)),
    ("tests/kernels/shared.ptx", |context| tests_kernels_shared_ptx::load(context).map(drop)),
    ("tests/kernels/textures.ptx", |context| tests_kernels_textures_ptx::load(context).map(drop)),
    ("tests/kernels/typed.ptx", |context| tests_kernels_typed_ptx::load(context).map(drop)),
    ("tests/kernels/vecadd.fatbin", |context| tests_kernels_vecadd_fatbin::load(context).map(drop)),
    ("tests/kernels/vecadd_link.fatbin", |context| tests_kernels_vecadd_link_fatbin::load(context).map(drop)),
    ("tests/kernels/vecadd_plain.fatbin", |context| tests_kernels_vecadd_plain_fatbin::load(context).map(drop)),
    ("tests/kernels/vecadd_sm80.cubin", |context| tests_kernels_vecadd_sm80_cubin::load(context).map(drop)),
    ("tests/kernels/vecadd_sm90.cubin", |context| tests_kernels_vecadd_sm90_cubin::load(context).map(drop)),
    ("tests/kernels/warp.ptx", |context| tests_kernels_warp_ptx::load(context).map(drop)),
    ("tests/kernels/warp80.ptx", |context| tests_kernels_warp80_ptx::load(context).map(drop)),
];
