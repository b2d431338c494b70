//! PTX that a driver of an earlier version does not read: a spy says what the emulator as of that version says.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use cuda_emulator::InstanceOptions;
use cuda_harness::SpyOptions;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

const DRIVERS: [u32; 12] =
    [11_080, 12_000, 12_010, 12_020, 12_030, 12_040, 12_050, 12_060, 12_070, 12_080, 12_090, 13_000];
const TEXTS: [&str; 13] =
    ["7.0", "7.8", "8.0", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0", "9.1"];
const TOO_NEW: CUresult = CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION;

fn text(version: &str) -> CString {
    let text = format!(
        "// .version 1.0\n.version {version}\n.target sm_70\n.address_size 64\n.visible .entry nothing()\n{{\n    ret;\n}}\n"
    );
    CString::new(text).unwrap()
}

fn with_context(driver: &Arc<Driver>) {
    let mut context = null_mut();
    unsafe {
        assert_eq!(driver.cuInit(0), CUresult::SUCCESS);
        assert_eq!(driver.cuDevicePrimaryCtxRetain(&mut context, 0), CUresult::SUCCESS);
        assert_eq!(driver.cuCtxSetCurrent(context), CUresult::SUCCESS);
    }
}

/// The options for an error log.
fn log_options(log: &mut [u8]) -> ([CUjit_option; 2], [*mut c_void; 2]) {
    let options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CUjit_option::CU_JIT_ERROR_LOG_BUFFER];
    (options, [std::ptr::without_provenance_mut(log.len()), log.as_mut_ptr().cast()])
}

fn said(log: &[u8]) -> String {
    log.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect()
}

/// What loading it answers, without and with a log, and what is in that. The length beside the log is checked if it is an error.
fn load(driver: &Driver, text: &CString, log: &mut [u8]) -> (CUresult, CUresult, String) {
    let mut module = null_mut();
    let image = text.as_ptr().cast();
    let plain = unsafe { driver.cuModuleLoadData(&mut module, image) };
    let (mut options, mut values) = log_options(log);
    let place = values.as_mut_ptr();
    let logged = unsafe { driver.cuModuleLoadDataEx(&mut module, image, 2, options.as_mut_ptr(), place) };
    let line = said(log);
    if logged != CUresult::SUCCESS {
        let is_cut = line.len() + 1 == log.len();
        assert_eq!(values[0].addr(), if is_cut { log.len() } else { line.len() }, "{line}");
    }
    (plain, logged, line)
}

#[test]
fn later_ptx_is_refused_as_by_a_driver_of_that_version() {
    for version in DRIVERS {
        let old = InstanceOptions::new().as_of(version).start().unwrap();
        let old = old.driver();
        with_context(&old);
        let spy = SpyOptions::new().as_of(version).over(&cuda_emulator::driver()).unwrap();
        let spied = spy.driver();
        with_context(&spied);
        for ptx in TEXTS {
            let (expected, log, line) = load(&old, &text(ptx), &mut [0; 200]);
            let (code, with_log, found) = load(&spied, &text(ptx), &mut [0; 200]);
            assert_eq!((code, with_log), (expected, log), "{ptx} on {version}");
            // The spy does not say which line that is.
            let sentence = line.rsplit("fatal ").next().unwrap();
            assert!(found.ends_with(sentence), "{ptx} on {version}: {found} {line}");
        }
    }
}

#[test]
fn every_way_to_load_ptx_is_looked_at() {
    let spy = SpyOptions::new().as_of(12_000).over(&cuda_emulator::driver()).unwrap();
    let driver = spy.driver();
    with_context(&driver);
    let folder = std::env::temp_dir().join(format!("older_ptx_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (version, expected) in [("8.0", CUresult::SUCCESS), ("8.1", TOO_NEW)] {
        let text = text(version);
        let file = folder.join(version);
        std::fs::write(&file, text.as_bytes()).unwrap();
        let path = CString::new(file.to_str().unwrap()).unwrap();
        let (mut module, mut library, mut state) = (null_mut(), null_mut(), null_mut());
        let mut log = [0; 200];
        unsafe {
            assert_eq!(driver.cuModuleLoad(&mut module, path.as_ptr()), expected);
            let (mut options, mut values) = log_options(&mut log);
            let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
            let image = text.as_ptr().cast();
            let loaded =
                driver.cuLibraryLoadData(&mut library, image, options, values, 2, null_mut(), null_mut(), 0);
            assert_eq!(loaded, expected);
            assert_eq!(!log.starts_with(&[0]), expected == TOO_NEW);
            let loaded = driver.cuLibraryLoadFromFile(
                &mut library,
                path.as_ptr(),
                null_mut(),
                null_mut(),
                0,
                null_mut(),
                null_mut(),
                0,
            );
            assert_eq!(loaded, expected);
            assert_eq!(driver.cuLinkCreate(0, null_mut(), null_mut(), &mut state), CUresult::SUCCESS);
            let kind = CUjitInputType::CU_JIT_INPUT_PTX;
            let (data, size) = (text.as_ptr().cast_mut().cast(), text.as_bytes().len());
            let added =
                driver.cuLinkAddData(state, kind, data, size, c"it".as_ptr(), 0, null_mut(), null_mut());
            assert_eq!(added, expected);
            let added = driver.cuLinkAddFile(state, kind, path.as_ptr(), 0, null_mut(), null_mut());
            // With what was added above it is there twice.
            assert_eq!(added == TOO_NEW, expected == TOO_NEW);
            assert_eq!(driver.cuLinkDestroy(state), CUresult::SUCCESS);
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_short_log_gets_what_fits() {
    let spy = SpyOptions::new().as_of(11_080).over(&cuda_emulator::driver()).unwrap();
    let driver = spy.driver();
    with_context(&driver);
    let (code, _, line) = load(&driver, &text("8.0"), &mut [0xff; 12]);
    assert_eq!((code, line.as_str()), (TOO_NEW, "ptxas fatal"));
    let now = SpyOptions::new().over(&cuda_emulator::driver()).unwrap();
    assert_eq!(load(&now.driver(), &text("9.0"), &mut [0; 200]).0, CUresult::SUCCESS);
}
