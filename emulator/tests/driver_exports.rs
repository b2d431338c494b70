//! What the shared library exports, against the list of a driver's symbols that the headers give (`libcuda/exports.txt`).
#![cfg(all(unix, not(miri)))]
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/library.rs"]
mod library;
#[path = "../../harness/src/skip.rs"]
mod skip;

use cuda_driver_sys::{CUdriverProcAddressQueryResult as Status, CUresult, open_library, pfn};
use std::ffi::{CString, c_void};
use std::mem::transmute;
use std::ptr::{null, null_mut};

/// The newest CUDA version of driver 580.
const NEWEST: u32 = 13_000;

/// A line of the list.
struct Row {
    symbol: &'static str,
    name: &'static str,
    since: u32,
    per_thread: bool,
}

fn rows() -> Vec<Row> {
    let row = |line: &'static str| match *line.split(' ').collect::<Vec<_>>() {
        [symbol, name, since, ref rest @ ..] => {
            Row { symbol, name, since: since.parse().unwrap(), per_thread: rest == ["per-thread"] }
        }
        _ => panic!("{line}"),
    };
    let rows: Vec<_> = include_str!("../libcuda/exports.txt").lines().map(row).collect();
    assert!(rows.len() > 700 && rows.iter().any(|row| row.per_thread));
    rows
}

/// The library's symbols, and its `cuGetProcAddress`.
struct Library {
    symbol: Box<dyn Fn(&str) -> *const c_void>,
    get_proc_address: pfn::cuGetProcAddress_v2,
}

impl Library {
    fn open() -> Option<Library> {
        let Some(path) = library::shared_library() else {
            skip::skipped("no cargo here to build it");
            return None;
        };
        let lookup = unsafe { open_library(path) }.unwrap();
        let symbol = move |name: &str| lookup(&CString::new(name).unwrap());
        let get_proc_address =
            unsafe { transmute::<*const c_void, pfn::cuGetProcAddress_v2>(symbol("cuGetProcAddress_v2")) };
        Some(Library { symbol: Box::new(symbol), get_proc_address })
    }

    fn find(&self, name: &str, version: u32, flags: u64) -> (CUresult, *const c_void, Status) {
        let name = CString::new(name).unwrap();
        let (mut found, mut status) = (null_mut(), Status(9));
        let code =
            unsafe { (self.get_proc_address)(name.as_ptr(), &mut found, version as i32, flags, &mut status) };
        (code, found, status)
    }
}

#[test]
fn it_exports_what_driver_580_does() {
    let Some(library) = Library::open() else { return };
    let rows = rows();
    let is_wrong = |row: &&Row| (library.symbol)(row.symbol).is_null() == (row.since <= NEWEST);
    let wrong: Vec<_> = rows.iter().filter(is_wrong).map(|row| row.symbol).collect();
    assert!(wrong.is_empty(), "missing, or too new: {wrong:?}");
}

/// The newest ABI that a program of that version knows, and of that the form that it asks for.
fn expected<'a>(rows: &'a [Row], name: &str, version: u32, own: bool) -> Option<&'a Row> {
    let known = |own: bool| {
        let fits = move |row: &&Row| row.name == name && row.per_thread == own && row.since <= version;
        rows.iter().filter(fits).max_by_key(|row| row.since)
    };
    known(own).or_else(|| known(false))
}

#[test]
fn every_name_is_found_at_every_version() {
    let Some(library) = Library::open() else { return };
    let mut rows = rows();
    rows.retain(|row| row.since <= NEWEST);
    let mut versions: Vec<u32> = rows.iter().map(|row| row.since).collect();
    versions.extend([1_000, 11_030, 11_080, 12_000, 12_040, 12_080, NEWEST]);
    versions.sort_unstable();
    versions.dedup();
    let mut names: Vec<_> = rows.iter().map(|row| row.name).collect();
    names.dedup();
    for name in names {
        for version in &versions {
            for (flags, own) in [(0, false), (1, false), (2, true)] {
                // The header of 12.0 gave this name to another function.
                let named = if name == "cuGraphInstantiate" && *version >= 12_000 {
                    "cuGraphInstantiateWithFlags"
                } else {
                    name
                };
                let (address, status) = match expected(&rows, named, *version, own) {
                    Some(row) => ((library.symbol)(row.symbol), Status::CU_GET_PROC_ADDRESS_SUCCESS),
                    None => (null(), Status::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT),
                };
                let found = library.find(name, *version, flags);
                assert_eq!(found, (CUresult::SUCCESS, address, status), "{name} {version} {flags}");
            }
        }
    }
}

#[test]
fn what_no_driver_580_has_is_not_found() {
    let Some(library) = Library::open() else { return };
    for name in ["cuNothing", "cuMemAlloc_v2", "cuFuncGetParamCount", ""] {
        let (code, address, status) = library.find(name, NEWEST, 0);
        assert!(address.is_null(), "{name}");
        assert_eq!((code, status), (CUresult::SUCCESS, Status::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
    }
    assert_eq!(library.find("cuInit", NEWEST + 10, 0).0, CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(library.find("cuInit", NEWEST, 4).0, CUresult::CUDA_ERROR_INVALID_VALUE);
}

/// The emulator's own `cuGetProcAddress` finds the same functions within the process.
#[test]
fn the_table_finds_the_same_symbols() {
    let cuda = cuda_emulator::driver();
    for Row { symbol, name, since, per_thread } in rows() {
        let address = cuda_emulator::symbol_address(symbol);
        assert_eq!(address.is_null(), since > NEWEST, "{symbol}");
        if since <= NEWEST && name != "cuGraphInstantiate" {
            let name = CString::new(name).unwrap();
            let (mut found, flags) = (null_mut(), if per_thread { 2 } else { 0 });
            let code = unsafe {
                cuda.cuGetProcAddress_v2(name.as_ptr(), &mut found, since as i32, flags, null_mut())
            };
            assert_eq!((code, found.cast_const()), (CUresult::SUCCESS, address), "{symbol}");
        }
    }
}
