//! What launches, and what stands around them, cost in this crate, by hand, and in other crates: in one run, on one machine.
//!
//! - `cargo xtask peers --gpu`: on the driver of this machine; `cargo xtask peers`: on the emulator, where only that it runs means
//!   anything.
//! - `cargo xtask peers calls`: driver calls and allocations, on the emulator.
//! - Names of rows as arguments: only these (`peers list` shows them).
//!
//! All ways share the device's primary context. Each row takes samples of all ways in turn, and each round begins with another way;
//! the tables show medians. Before they are timed, all launches show that the kernel gets their arguments.

mod bare;
mod counts;
mod images;
mod measure;
mod ours;
mod rows;
mod tasks;
mod threads;
mod with_cuda_rust;
mod with_cudarc;
mod with_cust;

use std::hint::black_box;
use std::path::Path;

use bare::{Bare, ok};
use cuda_launch::CudaContext;
use measure::Effort;
use ours::Ours;
use with_cuda_rust::CudaRust;
use with_cudarc::Cudarc;
use with_cust::Cust;

/// The fourth argument of all launches.
pub(crate) const ALPHA: f32 = 2.5;

/// All ways, ready.
pub(crate) struct Bench {
    bare: Bare,
    ours: Ours,
    cudarc: Cudarc,
    cudarc_without: Cudarc,
    cust: Cust,
    cuda_rust: CudaRust,
    /// The third argument of all launches: with zero the kernel returns at once.
    n: u32,
}

impl Bench {
    fn new(context: &CudaContext, effort: &Effort) -> Self {
        let (text, image) = (images::text(24), images::linked(context, effort.kernels));
        Self {
            bare: Bare::new(context, &text, &image),
            ours: Ours::new(context, &text, &image),
            cudarc: Cudarc::new(true, &text, &image),
            cudarc_without: Cudarc::new(false, &text, &image),
            cust: Cust::new(&text, &image),
            cuda_rust: CudaRust::new(&text, &image),
            n: 0,
        }
    }

    /// Where the kernel of a way reads and writes.
    fn memory(&self, way: rows::Way) -> (u64, u64) {
        use rows::Way::*;
        match way {
            Bare | Again => self.bare.memory(),
            Ours => self.ours.memory(),
            Cudarc => self.cudarc.memory(),
            CudarcWithout => self.cudarc_without.memory(),
            Cust => self.cust.memory(),
            CudaRust => self.cuda_rust.memory(),
        }
    }
}

/// Fails if the kernel does not get the arguments of a launch.
fn verify(bench: &mut Bench) {
    let launches = rows::ROWS.iter().filter(|row| row.launches);
    for (number, (name, way, run)) in
        launches.flat_map(|row| row.ways.iter().map(|(way, run)| (row.name, *way, *run))).enumerate()
    {
        let (x, y) = bench.memory(way);
        bench.n = 1000 + number as u32;
        run(bench);
        bench.bare.wait_for_all();
        let mut written = [0u8; 16];
        // SAFETY: the memory has 128 bytes, and nobody uses it now.
        ok(unsafe { bench.bare.driver.cuMemcpyDtoH(written.as_mut_ptr().cast(), y, written.len()) });
        let mut expected = x.to_ne_bytes().to_vec();
        expected.extend(bench.n.to_ne_bytes());
        expected.extend(ALPHA.to_ne_bytes());
        assert_eq!(written[..], expected, "{name}: {way:?} passes other arguments");
    }
    bench.n = black_box(0);
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.iter().any(|name| name == "list") {
        return rows::names().for_each(|name| println!("{name}"));
    }
    if let [calls, log] = &names[..]
        && calls == "calls"
    {
        let context = CudaContext::new(0).unwrap();
        let effort = Effort::on(&context);
        return counts::print(&mut Bench::new(&context, &effort), &effort, Path::new(log));
    }
    let chosen = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    if let Some(unknown) = names.iter().find(|name| rows::names().all(|known| known != name.as_str())) {
        eprintln!("no row {unknown:?}; `list` shows them");
        std::process::exit(2);
    }
    let context = CudaContext::new(0).unwrap();
    let effort = Effort::on(&context);
    let mut bench = Bench::new(&context, &effort);
    verify(&mut bench);
    measure::conditions(&context, &effort, bench.bare.image_size());
    rows::print(&mut bench, &effort, chosen);
    if chosen(tasks::NAME) {
        tasks::print(&bench, &effort);
    }
    if chosen(threads::NAME) {
        threads::print(&bench, &effort);
    }
}
