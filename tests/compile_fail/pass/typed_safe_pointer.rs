use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/numbers.ptx")]
mod kernels {
    unsafe extern "C" {
        #[launch_contract(requires = (!out.is_empty()))]
        pub safe fn of_u64(out: *mut u32, value: u64);
    }
}
