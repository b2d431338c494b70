//! `wgmma.mma_async` on a GPU and on the emulator, bit by bit.
//!
//! `cargo test -p cuda-emulator --test wgmma_device -- --ignored --nocapture` on a GPU of compute capability 9.0 compares every form with at
//! least a million products of random operands and 100,000 of each kind of hard ones; `WGMMA_PRODUCTS` sets another number than the million.
//! `EXACTNESS.md` has what came of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod matrix_support;
mod numeric_support;
mod wgmma_support;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use cuda_driver_sys::{CUresult, Driver};
use cuda_emulator::{Instance, InstanceOptions};
use matrix_support::data::{self, MODES};
use matrix_support::form::{Elem, Form, Kind};
use matrix_support::run;
use numeric_support::Random;
use wgmma_support::case::Case;
use wgmma_support::forms::forms;

/// The form as operands are chosen for it.
fn form(case: &Case) -> Form {
    Form {
        name: case.instruction(),
        kind: case.sparse.map_or(Kind::Dense, Kind::Sparse),
        m: 64,
        n: case.n,
        k: case.k,
        types: [case.a, case.b, case.d, case.d].map(Elem::named),
        saturates: case.saturates,
        and: true,
    }
}

/// Products of an instance.
fn products(case: &Case) -> usize {
    64 * case.n * case.k
}

/// How many instances have so many products of random operands, and a tenth of that of every other kind: the modes of all.
fn modes(case: &Case, random: usize) -> Vec<usize> {
    let count = |mode| if mode < 2 { random } else { random / 10 }.div_ceil(products(case));
    (0..MODES).flat_map(|mode| std::iter::repeat_n(mode, count(mode))).collect()
}

/// The images of instances; C takes no part in every fourth.
fn images(case: &Case, modes: &[usize]) -> Vec<u8> {
    let form = form(case);
    let seed = form.name.bytes().fold(7u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let mut random = Random::new(seed);
    let mut all = Vec::with_capacity(modes.len() * case.size());
    for (at, &mode) in modes.iter().enumerate() {
        let [a, b, c] = data::matrices(&form, mode, &mut random);
        let metadata: Vec<u32> = match case.sparse {
            Some(_) => data::metadata(&form, 128, &mut random).iter().map(|word| *word as u32).collect(),
            None => Vec::new(),
        };
        all.extend(Case { adds: at % 4 != 3, ..*case }.image(&a, &b, &c, &metadata, 0));
    }
    all
}

/// The registers of D that a driver's device makes.
fn registers(driver: &Driver, case: &Case, images: &[u8]) -> Result<Vec<u8>, CUresult> {
    run::start(driver);
    let blocks = images.len() / case.size();
    let output = blocks * 512 * case.registers();
    run::launch(driver, &case.text(&case.instruction()), images, output, (blocks as u32, 128))
}

/// Products of each kind, and words that differ.
#[derive(Clone, Copy, Default)]
struct Found {
    forms: usize,
    products: [u64; MODES],
    different: [u64; MODES],
}

impl Found {
    fn add(&mut self, other: &Found) {
        self.forms += other.forms;
        for mode in 0..MODES {
            self.products[mode] += other.products[mode];
            self.different[mode] += other.different[mode];
        }
    }
}

fn compare(gpu: &Driver, emulator: &Driver, case: &Case, random: usize) -> Found {
    let modes = modes(case, random);
    let images = images(case, &modes);
    let name = case.instruction();
    let theirs = registers(gpu, case, &images).unwrap_or_else(|error| panic!("{name}: the GPU: {error:?}"));
    let ours = registers(emulator, case, &images).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let mut found = Found { forms: 1, ..Found::default() };
    modes.iter().for_each(|mode| found.products[*mode] += products(case) as u64);
    let size = 512 * case.registers();
    for (at, (ours, theirs)) in ours.chunks(4).zip(theirs.chunks(4)).enumerate() {
        if ours != theirs {
            let (instance, place) = (4 * at / size, 4 * at % size);
            if found.different.iter().sum::<u64>() < 3 {
                println!("    {name}: instance {instance}, byte {place}: {ours:02x?}, the GPU {theirs:02x?}");
            }
            found.different[modes[instance]] += 1;
        }
    }
    found
}

/// The forms of a kind, in the order of what is printed.
fn group(case: &Case) -> String {
    let variant = if case.sparse.is_some() { ".sp" } else { "" };
    let saturates = if case.saturates { ".satfinite" } else { "" };
    format!("wgmma.mma_async{variant} m64nNk{}{saturates}.{}.{}.{}", case.k, case.d, case.a, case.b)
}

/// For each group a hash of what a driver's device makes of one instance of each kind in every nineteenth form.
fn digests(driver: &Driver) -> String {
    let mut all = BTreeMap::<String, u64>::new();
    for case in forms().into_iter().step_by(19) {
        let images = images(&case, &(0..MODES).collect::<Vec<_>>());
        let name = case.instruction();
        let bytes = registers(driver, &case, &images).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let hash = all.entry(group(&case)).or_insert(0xcbf2_9ce4_8422_2325);
        for word in bytes.chunks_exact(8) {
            *hash ^= u64::from_le_bytes(word.try_into().unwrap());
            *hash = hash.wrapping_mul(0x100_0000_01b3).rotate_left(23);
        }
    }
    all.iter().map(|(name, hash)| format!("{name} {hash:016x}\n")).collect()
}

/// What an H200 with driver 580.159.04 made of them.
const RECORDED: &str = include_str!("wgmma_support/h200.txt");

#[test]
fn the_emulator_gives_the_bits_of_an_h200() {
    let instance = Instance::new().unwrap();
    let found = digests(&instance.driver());
    assert!(found == RECORDED, "{found}");
}

#[test]
#[ignore = "needs a GPU of compute capability 9.0"]
fn a_gpu_gives_the_bits_of_the_emulator() {
    let gpu = Driver::system().unwrap();
    let found = digests(&gpu);
    println!("{found}");
    let random = std::env::var("WGMMA_PRODUCTS").map_or(1_000_000, |number| number.parse().unwrap());
    let (forms, next) = (forms(), AtomicUsize::new(0));
    let groups = Mutex::new(BTreeMap::<String, Found>::new());
    let work = || {
        let instance = InstanceOptions::new().workers(1).start().unwrap();
        let emulator = instance.driver();
        while let Some(case) = forms.get(next.fetch_add(1, Relaxed)) {
            let found = compare(&gpu, &emulator, case, random);
            groups.lock().unwrap().entry(group(case)).or_default().add(&found);
        }
    };
    // There are at most 16 instances.
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(15);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut sum = Found::default();
    for (name, found) in groups.into_inner().unwrap() {
        let products = found.products.iter().sum::<u64>();
        println!(
            "{name}: {} forms, {products} products, different by kind {:?}",
            found.forms, found.different
        );
        sum.add(&found);
    }
    for mode in 0..MODES {
        println!(
            "{}: {} products, {} words differ",
            data::NAMES[mode],
            sum.products[mode],
            sum.different[mode]
        );
    }
    println!("all: {} forms, {} products", sum.forms, sum.products.iter().sum::<u64>());
    assert_eq!(sum.different, [0; MODES]);
    assert!(found == RECORDED, "not what was recorded");
}
