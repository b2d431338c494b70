//! Kernels that go wrong. Each runs in a child process, because a fault ends CUDA for its process: the first call that waits
//! reports it, every later call answers the same code, nothing panics or hangs, and the process ends as it likes. The
//! emulator also says which kernel, block, thread, address and PTX line it was.

#![allow(unsafe_code)] // Launches that break the caller's duties on purpose, where no other test can be hurt.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "references/site.rs"]
mod site;

use cuda_harness::{child, skipped};
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, DeviceBuffer, DevicePtr, DevicePtrMut, Error, ErrorKind, cuda_launch};
use site::{Site, fault, line, on_emulator};

const FAULTS: &str = include_str!("kernels/faults.ptx");
const LINEINFO: &str = include_str!("kernels/lineinfo/fill.ptx");

/// Far outside everything that a GPU maps.
const FAR: i64 = 1 << 40;

const ILLEGAL: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
const MISALIGNED: CUresult = CUresult::CUDA_ERROR_MISALIGNED_ADDRESS;
const FAILED: CUresult = CUresult::CUDA_ERROR_LAUNCH_FAILED;

/// Launches `kernel`, which takes an address, an offset and one more argument, with one thread.
macro_rules! access {
    ($site:ident, $kernel:ident, $base:expr, $offset:expr, $last:expr) => {
        unsafe {
            cuda_launch! { kernel: $kernel, module: $site.module, stream: $site.stream, config: line(1, 1),
            args: [DevicePtrMut::<u8>::from_raw($base), $offset, $last] }
        }
    };
}

#[test]
fn write_far_past_the_end() {
    let says = ["write_u32", "illegal write of 4 bytes", "block (0, 0, 0)", "thread (0, 0, 0)"];
    fault("write_far_past_the_end", FAULTS, ILLEGAL, "st.global.u32", &says, |site| {
        let base = site.words.cu_deviceptr();
        site.expect(base + FAR as u64);
        access!(site, write_u32, base, FAR, 7u32)
    });
}

#[test]
fn read_far_past_the_end() {
    fault(
        "read_far_past_the_end",
        FAULTS,
        ILLEGAL,
        "ld.global.u64",
        &["read_u64", "illegal read of 8 bytes"],
        |site| {
            let base = site.words.cu_deviceptr();
            site.expect(base + FAR as u64);
            access!(site, read_u64, base, FAR, DevicePtr::<u32>::from_raw(base))
        },
    );
}

#[test]
fn write_through_null() {
    fault(
        "write_through_null",
        FAULTS,
        ILLEGAL,
        "st.global.f32",
        &["write_f32", "illegal write of 4 bytes"],
        |site| {
            site.expect(16);
            access!(site, write_f32, 0, 16i64, 1.0f32)
        },
    );
}

#[test]
fn atomic_through_null() {
    fault("atomic_through_null", FAULTS, ILLEGAL, "atom", &["atomic_at"], |site| unsafe {
        cuda_launch! { kernel: atomic_at, module: site.module, stream: site.stream, config: line(2, 64),
        args: [DevicePtrMut::<u8>::from_raw(0), 0i64] }
    });
}

#[test]
fn misaligned_write() {
    let says = ["write_uint4", "misaligned write of 16 bytes"];
    fault("misaligned_write", FAULTS, MISALIGNED, "st.global.v4.u32", &says, |site| {
        let base = site.words.cu_deviceptr();
        site.expect(base + 8);
        access!(site, write_uint4, base, 8i64, [1u32, 2, 3, 4])
    });
}

#[test]
fn misaligned_read() {
    fault(
        "misaligned_read",
        FAULTS,
        MISALIGNED,
        "ld.global.u16",
        &["read_u16", "misaligned read of 2 bytes"],
        |site| {
            let base = site.words.cu_deviceptr();
            site.expect(base + 33);
            access!(site, read_u16, base, 33i64, DevicePtr::<u32>::from_raw(base))
        },
    );
}

#[test]
fn one_thread_of_many() {
    let says = ["write_one_wrong", "block (3, 0, 0)", "thread (41, 0, 0)"];
    fault("one_thread_of_many", FAULTS, ILLEGAL, "st.global.u32", &says, |site| {
        site.expect(site.words.cu_deviceptr() + 4 * FAR as u64);
        let p = site.words.as_mut_device_ptr();
        unsafe {
            cuda_launch! { kernel: write_one_wrong, module: site.module, stream: site.stream, config: line(4, 64),
            args: [p, 3u32, 41u32, FAR] }
        }
    });
}

#[test]
fn trap() {
    let says = ["trap_at", "block (2, 0, 0)", "thread (5, 0, 0)"];
    fault("trap", FAULTS, FAILED, "trap", &says, |site| {
        let p = site.words.as_mut_device_ptr();
        unsafe {
            cuda_launch! { kernel: trap_at, module: site.module, stream: site.stream, config: line(4, 64),
            args: [2u32, 5u32, p] }
        }
    });
}

#[test]
fn failed_assertion() {
    let says = ["assert_below", "faults.cu", "data[i] < limit && \"too large\"", "thread (7, 0, 0)"];
    fault("failed_assertion", FAULTS, CUresult::CUDA_ERROR_ASSERT, "call", &says, |site| {
        let mut data = vec![1u32; 256];
        data[7] = 100;
        site.words.copy_from_host(&site.stream, &data)?;
        let p = site.words.as_mut_device_ptr();
        unsafe {
            cuda_launch! { kernel: assert_below, module: site.module, stream: site.stream, config: line(2, 128),
            args: [p, 256u32, 100u32] }
        }
    });
}

#[test]
fn shared_memory_out_of_range() {
    let says = ["shared_write", "illegal write of 4 bytes", "shared"];
    fault("shared_memory_out_of_range", FAULTS, ILLEGAL, "st.shared.u32", &says, |site| {
        let p = site.words.as_mut_device_ptr();
        unsafe {
            cuda_launch! { kernel: shared_write, module: site.module, stream: site.stream, config: line(1, 64),
            args: [1u32 << 20, p] }
        }
    });
}

#[test]
fn misaligned_shared_memory() {
    let says = ["shared_misaligned", "misaligned read of 4 bytes"];
    fault("misaligned_shared_memory", FAULTS, MISALIGNED, "ld.shared.u32", &says, |site| {
        let p = site.words.as_mut_device_ptr();
        unsafe {
            cuda_launch! { kernel: shared_misaligned, module: site.module, stream: site.stream, config: line(1, 64),
            args: [6u32, p] }
        }
    });
}

#[test]
fn dynamic_shared_memory_out_of_range() {
    fault(
        "dynamic_shared_memory_out_of_range",
        FAULTS,
        ILLEGAL,
        "st.shared.u32",
        &["dynamic_write"],
        |site| {
            let p = site.words.as_mut_device_ptr();
            let config = line(1, 1).with_shared(1024);
            unsafe {
                cuda_launch! { kernel: dynamic_write, module: site.module, stream: site.stream, config: config,
                args: [1u32 << 20, p] }
            }
        },
    );
}

/// Faults that a GPU does not see, or that hang it.
mod emulator {
    use super::*;

    /// As [`fault`]; on a GPU nothing is run.
    fn finds(
        test: &str,
        ptx: &str,
        code: CUresult,
        instruction: &str,
        says: &[&str],
        launch: impl FnOnce(&mut Site) -> Result<(), Error>,
    ) {
        let test = format!("emulator::{test}");
        if child::is_child(&test) || on_emulator() {
            fault(&test, ptx, code, instruction, says, launch);
        } else {
            skipped("only the emulator sees it");
        }
    }

    #[test]
    fn one_element_past_the_end() {
        let says =
            ["write_all", "0 bytes past the end of the allocation", "of 1024 bytes", "thread (256, 0, 0)"];
        finds("one_element_past_the_end", FAULTS, ILLEGAL, "st.global.u32", &says, |site| {
            site.expect(site.words.cu_deviceptr() + 1024);
            let p = site.words.as_mut_device_ptr();
            unsafe {
                cuda_launch! { kernel: write_all, module: site.module, stream: site.stream, config: line(1, 288), args: [p] }
            }
        });
    }

    #[test]
    fn half_an_element_past_the_end() {
        let says = ["read_uint2", "4 bytes past the end"];
        finds("half_an_element_past_the_end", FAULTS, ILLEGAL, "ld.global.v2.u32", &says, |site| {
            let odd = DeviceBuffer::<u32>::zeroed(&site.stream, 7)?;
            site.expect(odd.cu_deviceptr() + 24);
            let launched = access!(
                site,
                read_uint2,
                odd.cu_deviceptr(),
                24i64,
                DevicePtr::<u32>::from_raw(site.words.cu_deviceptr())
            );
            std::mem::forget(odd);
            launched
        });
    }

    #[test]
    fn before_the_beginning() {
        finds(
            "before_the_beginning",
            FAULTS,
            ILLEGAL,
            "st.global.u8",
            &["write_u8", "1 bytes before the allocation"],
            |site| {
                let base = site.words.cu_deviceptr();
                site.expect(base - 1);
                access!(site, write_u8, base, -1i64, 7u8)
            },
        );
    }

    #[test]
    fn freed_memory() {
        finds(
            "freed_memory",
            FAULTS,
            ILLEGAL,
            "st.global.u32",
            &["write_u32", "freed allocation", "offset 8"],
            |site| {
                let freed = DeviceBuffer::<u32>::zeroed(&site.stream, 100)?;
                let base = freed.cu_deviceptr();
                freed.close()?;
                site.expect(base + 8);
                access!(site, write_u32, base, 8i64, 7u32)
            },
        );
    }

    #[test]
    fn shared_memory_one_past_the_end() {
        let says = ["shared_write", "shared memory"];
        finds("shared_memory_one_past_the_end", FAULTS, ILLEGAL, "st.shared.u32", &says, |site| {
            let p = site.words.as_mut_device_ptr();
            unsafe {
                cuda_launch! { kernel: shared_write, module: site.module, stream: site.stream, config: line(1, 64), args: [64u32, p] }
            }
        });
    }

    #[test]
    fn local_memory_out_of_range() {
        let says = ["local_write", "illegal write of 4 bytes", "local"];
        finds("local_memory_out_of_range", FAULTS, ILLEGAL, "st.local.u32", &says, |site| {
            let p = site.words.as_mut_device_ptr();
            unsafe {
                cuda_launch! { kernel: local_write, module: site.module, stream: site.stream, config: line(1, 1), args: [1u32 << 24, p] }
            }
        });
    }

    #[test]
    fn stack_too_deep() {
        finds("stack_too_deep", FAULTS, ILLEGAL, "call", &["stack_depth", "deeper"], |site| {
            let p = site.words.as_mut_device_ptr();
            unsafe {
                cuda_launch! { kernel: stack_depth, module: site.module, stream: site.stream, config: line(1, 1), args: [10_000_000u32, p] }
            }
        });
    }

    #[test]
    fn barriers_that_never_meet() {
        let says = ["barrier_never_met", "deadlock", "barrier 1", "barrier 2"];
        finds(
            "barriers_that_never_meet",
            FAULTS,
            CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
            "bar.sync",
            &says,
            |site| {
                let p = site.words.as_mut_device_ptr();
                unsafe {
                    cuda_launch! { kernel: barrier_never_met, module: site.module, stream: site.stream, config: line(1, 64), args: [p] }
                }
            },
        );
    }

    /// With `-lineinfo` the report also names the line of the source.
    #[test]
    fn the_line_of_the_source() {
        finds(
            "the_line_of_the_source",
            LINEINFO,
            ILLEGAL,
            "st.global.u32",
            &["`fill`", "fill.cu:6"],
            |site| unsafe {
                cuda_launch! { kernel: fill, module: site.module, stream: site.stream, config: line(1, 64),
                args: [DevicePtrMut::<u32>::from_raw(0), 64u32, 1u32] }
            },
        );
    }
}

/// With an instruction on line 7 that the emulator does not have, and one that needs none of it.
const LACKING: &str = "\
.version 8.3
.target sm_90
.address_size 64
.visible .entry lacking(.param .u64 p) {
.reg .b64 %a;
ld.param.u64 %a, [p];
multimem.red.relaxed.sys.global.add.u64 [%a], %a;
ret;
}
.visible .entry whole(.param .u64 p) {
.reg .b64 %a;
ld.param.u64 %a, [p];
st.global.u32 [%a], 7;
ret;
}
";

#[test]
fn a_kernel_that_the_emulator_cannot_run_is_refused_by_name_and_nothing_else_is() {
    if !on_emulator() {
        return skipped("a GPU has every instruction");
    }
    let ctx = CudaContext::new(0).unwrap();
    let (stream, module) = (ctx.new_stream().unwrap(), ctx.load_module(LACKING).unwrap());
    let mut x = DeviceBuffer::<u32>::zeroed(&stream, 1).unwrap();
    let p = x.as_mut_device_ptr();
    let refused = unsafe {
        cuda_launch! { kernel: lacking, module: module, stream: stream, config: line(1, 1), args: [p] }
    };
    let error = refused.unwrap_err();
    assert!(error.is_unsupported() && !error.is_sticky(), "{error}");
    let text = error.to_string();
    for part in ["kernel `lacking`, PTX line 7", "multimem.red", "nothing was launched"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let ErrorKind::Driver(error) = error.kind() else { panic!("{text}") };
    assert!(error.log.as_ref().is_some_and(|log| log.contains("PTX line 7")));
    unsafe {
        cuda_launch! { kernel: whole, module: module, stream: stream, config: line(1, 1), args: [p] }
    }
    .unwrap();
    assert_eq!(x.to_host_vec(&stream).unwrap(), [7]);
}
