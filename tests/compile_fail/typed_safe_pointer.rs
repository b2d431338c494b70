// A safe kernel that writes to an address of whose length nothing is known.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/numbers.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn of_u64(out: *mut u32, value: u64);
    }
}

fn main() {}
