//! Matrix instructions on the emulator: every form with operands of all kinds, against the ISA's layouts and sums of another make.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod matrix_support;
mod numeric_support;

use cuda_driver_sys::Driver;
use cuda_emulator::Instance;
use matrix_support::form::{Elem, Form, Kind, forms};
use matrix_support::moves::{INPUT, Move, Product, products, rows};
use matrix_support::{data, reference, run};
use numeric_support::Random;
use std::sync::Arc;

fn emulator() -> (Instance, Arc<Driver>) {
    let instance = Instance::new().unwrap();
    let driver = instance.driver();
    run::start(&driver);
    (instance, driver)
}

/// Compares all forms of `mma` of a kind with the reference.
fn compare(wanted: impl Fn(&Form) -> bool) {
    let (_instance, driver) = emulator();
    let chosen: Vec<Form> = forms().into_iter().filter(wanted).collect();
    assert!(!chosen.is_empty());
    for form in chosen {
        let per_instance = data::inputs(&form) * 32;
        let operands = data::operands(&form, 7, 3 * data::MODES);
        let results = run::results(&driver, &form, &operands)
            .unwrap_or_else(|error| panic!("{}: {error:?}", form.name));
        let registers = form.registers()[3] * 32;
        for (operands, results) in operands.chunks(per_instance).zip(results.chunks(registers)) {
            let expected = reference::registers(&form, operands);
            for (index, (ours, theirs)) in results.iter().zip(&expected).enumerate() {
                let (register, lane) = (index / 32, index % 32);
                assert_eq!(
                    ours, theirs,
                    "{}, register {register} of lane {lane}: {ours:x} {theirs:x}",
                    form.name
                );
            }
        }
    }
}

#[test]
fn products_of_halves() {
    compare(|form| form.kind == Kind::Dense && matches!(form.types[0], Elem::F16 | Elem::Bf16));
}

#[test]
fn products_of_halves_by_quads() {
    compare(|form| matches!(form.kind, Kind::Quads(..)));
}

#[test]
fn products_of_tf32_and_f64() {
    compare(|form| form.kind == Kind::Dense && matches!(form.types[0], Elem::Tf32 | Elem::F64));
}

#[test]
fn products_of_numbers_of_eight_bits() {
    compare(|form| form.kind == Kind::Dense && matches!(form.types[0], Elem::E4m3 | Elem::E5m2));
}

#[test]
fn products_of_integers() {
    compare(|form| form.kind == Kind::Dense && form.types[2] == Elem::S32);
}

#[test]
fn products_of_a_sparse_matrix() {
    compare(|form| matches!(form.kind, Kind::Sparse(_)));
}

fn input(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..INPUT).map(|_| random.u64() as u8).collect()
}

fn moved(driver: &Driver, one: &Move, input: &[u8]) -> Vec<u8> {
    run::launch(driver, &one.text, input, one.output, (1, 32))
        .unwrap_or_else(|error| panic!("{}: {error:?}\n{}", one.name, one.text))
}

/// The numbers of 16 bits of a matrix in rows of 16 bytes, as 32 lanes hold them.
fn lanes(rows: &[&[u8]], transposed: bool) -> Vec<u8> {
    let number = |row: usize, column: usize| {
        let (row, column) = if transposed { (column, row) } else { (row, column) };
        [rows[row][2 * column], rows[row][2 * column + 1]]
    };
    (0..32)
        .flat_map(|lane| [number(lane / 4, lane % 4 * 2), number(lane / 4, lane % 4 * 2 + 1)].concat())
        .collect()
}

/// The row of shared memory that a lane names.
fn row_of(lane: usize) -> usize {
    (lane * 11 + 5) % 64
}

#[test]
fn matrices_of_rows_move() {
    let (_instance, driver) = emulator();
    let input = input(3);
    let row = |row: usize| &input[row * 16..][..16];
    for one in rows() {
        let results = moved(&driver, &one, &input);
        let trans = one.name.contains(".trans");
        let count = one.output / 128;
        let expected = match one.name.split('.').next().unwrap() {
            "ldmatrix" => {
                let place = |lane| if one.name.contains("::cta") { 1 } else { row_of(lane) };
                let matrix = |matrix: usize| (0..8).map(|at| row(place(matrix * 8 + at))).collect::<Vec<_>>();
                (0..count).flat_map(|index| lanes(&matrix(index), trans)).collect::<Vec<u8>>()
            }
            "stmatrix" => stored(&input, &one.name, trans),
            _ => {
                // Register `%v1` of lane `l` is word 1 of row `32 + l`.
                let word = |lane: usize| input[512 + lane * 16 + 4..][..4].to_vec();
                let matrix: Vec<Vec<u8>> =
                    (0..8).map(|row| (0..4).flat_map(|t| word(row * 4 + t)).collect()).collect();
                lanes(&matrix.iter().map(|row| &row[..]).collect::<Vec<_>>(), true)
            }
        };
        assert_eq!(results, expected, "{}", one.name);
    }
}

/// What shared memory holds after `stmatrix`.
fn stored(input: &[u8], name: &str, trans: bool) -> Vec<u8> {
    let count: usize = name.split(".x").nth(1).unwrap()[..1].parse().unwrap();
    let mut shared = input[..1024].to_vec();
    for index in 0..count {
        // Register `index` of lane `l` is word `index` of row `32 + l`.
        let number = |row: usize, column: usize| {
            let (row, column) = if trans { (column, row) } else { (row, column) };
            let lane = row * 4 + column / 2;
            &input[512 + lane * 16 + index * 4 + column % 2 * 2..][..2]
        };
        for row in 0..8 {
            let bytes: Vec<u8> = (0..8).flat_map(|column| number(row, column).to_vec()).collect();
            shared[row_of(index * 8 + row) * 16..][..16].copy_from_slice(&bytes);
        }
    }
    shared
}

/// The bits of an element in memory.
fn bits(memory: &[u8], start: usize, index: usize, width: usize) -> u64 {
    let at = start * 8 + index * width;
    let bytes = &memory[at / 8..(at / 8 + width.div_ceil(8))];
    let number = bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    number >> (at % 8) & u64::MAX >> (64 - width)
}

/// What `wmma` computes of a form: `mma`, with two accumulators of different types, and `.tf32` four columns at a time.
fn wmma(product: &Product, a: &[u64], b: &[u64], c: u64) -> u64 {
    let mut form = product.form.clone();
    let [ta, _, tc, td] = form.types;
    form.kind = Kind::Dense;
    if ta == Elem::Tf32 {
        let first = reference::element(&form, &a[..4], &b[..4], c);
        return reference::element(&form, &a[4..], &b[4..], first);
    }
    if ta != Elem::F16 || tc == td {
        return reference::element(&form, a, b, c);
    }
    use cuda_emulator::numeric::half::{f16_to_f32, f32_to_f16};
    form.types[2] = Elem::F32;
    let c = if tc == Elem::F16 { u64::from(f16_to_f32(c as u16).to_bits()) } else { c };
    let sum = reference::element(&form, a, b, c);
    if td == Elem::F32 { sum } else { u64::from(f32_to_f16(f32::from_bits(sum as u32))) }
}

#[test]
fn products_by_wmma() {
    let (_instance, driver) = emulator();
    for (index, product) in products().iter().enumerate() {
        let directed = product.form.name.contains(".rz")
            || product.form.name.contains(".rm")
            || product.form.name.contains(".rp");
        if directed {
            continue;
        }
        let input = input(index as u64 + 1);
        let one = product.kernel();
        let results = moved(&driver, &one, &input);
        let [ta, tb, tc, td] = product.form.types.map(Elem::bits);
        let Form { m, n, k, .. } = product.form;
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let element = |matrix: usize, bits_of: usize, row, column| {
                bits(&input, product.start(matrix), product.index(matrix, row, column), bits_of)
            };
            let a: Vec<u64> = (0..k).map(|at| element(0, ta, row, at)).collect();
            let b: Vec<u64> = (0..k).map(|at| element(1, tb, at, column)).collect();
            let expected = wmma(product, &a, &b, element(2, tc, row, column));
            let found = bits(&results, 0, product.index(3, row, column), td);
            assert_eq!(found, expected, "{}, element {row}, {column}: {found:x} {expected:x}", one.name);
        }
    }
}
