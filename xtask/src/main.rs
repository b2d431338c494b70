//! The chores of this repository, as `cargo xtask <chore>`.

use std::process::ExitCode;

mod api;
mod bindgen;
mod build;
mod cargo;
mod clang;
#[cfg(unix)] // Programs of others, most of which are for Linux alone.
mod clients;
mod corpus;
mod cost;
mod cust;
mod docs;
mod examples;
mod failure;
mod features;
mod flakes;
mod gate;
mod gpu;
mod imports;
mod mutants;
mod mutate_ptx;
mod package;
mod peers;
mod pictures;
mod random;
mod rustdoc;
mod since;
mod skipped;
mod stub;
mod tool;
mod wheels;

use failure::{Failure, Result};

const USAGE: &str = "\
usage: cargo xtask <chore>

  api                 write docs/api/: what is public in each published library (needs the oldest Rust that it promises)
  bindgen [--check]   make sys/src/generated/ and the list of exports from bindgen.toml; with --check, only fail if it would change
  clients [--gpu] [--every N] [NAME...]
                      run software that other people wrote, with its own tests, on the emulator: all of xtask/clients.toml, or the named
                      ones; from the package registries of pip and cargo, into target/clients/. --every: each Nth test; --gpu:
                      on the driver of this machine, in place of the emulator
  corpus [NAME...]    make PTX with other compilers (nvcc and NVRTC with CUB and CUTLASS, Triton, numba, Warp, tinygrad, clang, rustc) and
                      of single instructions, or by the named ones, and decode every kernel; from pip's registry, into target/corpus/
  cost                count the instructions of a launch with callgrind; fail over the limits
  examples            count the public items whose documentation has an example; fail below the least share (needs that Rust, too)
  gpu                 bundle tests, examples, benches, the tool and the programs beside other libraries into .gpu/ for a machine
                      with a GPU and no toolchain
  gpu --tests NAME... bundle these tests alone, where all are too much for a machine to take
  gpu --benches       bundle the benches alone
  gpu --peers         bundle the bench beside other crates (see `peers`)
  gpu --compilers [NAME...]
                      bundle the tests of compile/ with the libraries of nvrtc, nvvm or nvjitlink (the three together
                      are over its limit); nvrtc and nvvm if none is named
  gpu --beside        bundle comparisons of the emulator with a GPU: wgmma, driver calls, kernels of Triton and CUB
  gpu --check         bundle `cuda-launch check`, programs with a fault each, examples, and the CUDA runtime
  gpu --profile       bundle the kernels whose profiles are compared with the counters of `ncu`
  mutants [--in PATH] [--shard K/N]
                      change the code in many small ways, one at a time, and fail where the tests notice too few; --in: only
                      in the files whose path begins so; --shard: only every Nth change, from the Kth on (K from 0)
  mutate-ptx [COUNT [SEED]]
                      change PTX files in one place each until ptxas (from pip) refuses COUNT of them (2000), and compare with what the
                      emulator refuses; with the files of `corpus` where they are there; then the same with single instructions
  peers [--gpu] [ROW...]
                      what launches and what stands around them cost in this crate, by hand, and in other crates, in one run on the
                      emulator; --gpu: on the driver of this machine
  peers calls         count their driver calls and allocations
  pictures            make the pictures of docs/images/ that show what the tool prints (needs Chromium)
  random [--gpu] [FIRST LAST]
                      run random kernels, made by nvcc (from pip's registry) for these seeds, on the emulator; --gpu: on the driver of this
                      machine, too, and compare every bit; into target/random/
  since               find out from the headers of all releases which driver brought which value of an enumeration, and write the table of
                      sys/src/since.rs
  gate flakes N       that step with N rounds
  gate [STEP...]      run every check, or only the named ones:
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["api"] => api::write(),
        #[cfg(unix)]
        ["clients", arguments @ ..] => clients::run(arguments),
        ["corpus", names @ ..] => corpus::run_named(names),
        ["cost"] => cost::run(),
        ["examples"] => examples::check(),
        ["gpu", "--compilers", names @ ..] => gpu::bundle_compilers(names),
        ["gpu", "--beside"] => gpu::bundle_beside(),
        ["gpu", "--check"] => gpu::bundle_check(),
        ["gpu", "--profile"] => gpu::bundle_profile(),
        ["gpu", "--tests", names @ ..] => gpu::bundle_tests(names),
        ["gpu", "--benches"] => gpu::bundle_benches(),
        ["gpu", "--peers"] => gpu::bundle_peers(),
        ["gpu"] => gpu::bundle(),
        ["peers", arguments @ ..] => peers::run_bench(arguments),
        ["pictures"] => pictures::make(),
        ["mutants", options @ ..] => mutants::run(options),
        ["random", arguments @ ..] => random::run_seeds(arguments),
        ["mutate-ptx"] => mutate_ptx::compare("2000", "1"),
        ["mutate-ptx", mutants] => mutate_ptx::compare(mutants, "1"),
        ["mutate-ptx", mutants, seed] => mutate_ptx::compare(mutants, seed),
        ["since"] => since::write(),
        ["busy"] => flakes::busy(),
        ["gate", steps @ ..] => gate::gate(steps),
        ["bindgen"] => bindgen::run(bindgen::Mode::Write),
        ["bindgen", "--check"] => bindgen::run(bindgen::Mode::Check),
        _ => Err(format!("{USAGE}{}", gate::list()).into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}
