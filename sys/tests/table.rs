//! The table over a Rust lookup: what is there is called, what is not answers with a code. Runs under Miri.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_driver_sys::{ALIASES, CUresult, Driver, FUNCTIONS, Origin};
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// A driver in which each function answers with its own number in `FUNCTIONS`, after 1000.
mod numbered {
    use super::CUresult;

    macro_rules! functions {
        ($($name:ident($($argument:ident: $type:ty),*) $since:literal;)*) => {
            #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
            enum Number { $($name),* }

            $(
                #[allow(non_snake_case, clippy::too_many_arguments)]
                unsafe extern "C" fn $name($(_: $type),*) -> CUresult {
                    CUresult(1000 + Number::$name as u32)
                }
            )*

            /// In the order of `FUNCTIONS`.
            pub(super) fn addresses() -> Vec<*const std::ffi::c_void> {
                vec![$({ let f: cuda_driver_sys::pfn::$name = $name; f as *const _ }),*]
            }
        };
    }
    cuda_driver_sys::for_each_function!(functions);
}

/// The numbered driver without the functions of these names.
fn without(hidden: &[&str]) -> Driver {
    let addresses = numbered::addresses();
    let lookup = |symbol: &CStr| {
        let symbol = symbol.to_str().unwrap();
        // An older name of a function is not among them.
        let known = FUNCTIONS.binary_search_by_key(&symbol, |function| function.name());
        known.ok().filter(|_| !hidden.contains(&symbol)).map_or(null(), |index| addresses[index])
    };
    // SAFETY: 1: the functions have the types of `pfn` (the compiler compared them), and do nothing; 2: functions of this program stay.
    unsafe { Driver::from_lookup(lookup) }
}

/// Calls every function of the table by its method, with zeros; the answers are in the order of `FUNCTIONS`.
fn call_all(driver: &Driver) -> Vec<CUresult> {
    macro_rules! calls {
        ($($name:ident($($argument:ident: $type:ty),*) $since:literal;)*) => {
            // SAFETY: the functions of these tests look at no argument, and every type here, numbers, pointers,
            // `Option`s of functions and structures of such, has a value of zeros.
            vec![$(unsafe { driver.$name($(std::mem::zeroed::<$type>()),*) }),*]
        };
    }
    cuda_driver_sys::for_each_function!(calls)
}

fn index(symbol: &str) -> usize {
    FUNCTIONS.binary_search_by_key(&symbol, |function| function.name()).expect(symbol)
}

fn number(symbol: &str) -> CUresult {
    CUresult(1000 + index(symbol) as u32)
}

/// All calls on as many tables as there are functions are too many for Miri: it gets one in so many.
const fn step(miri: usize) -> usize {
    if cfg!(miri) { miri } else { 1 }
}

#[test]
fn every_method_calls_the_function_of_its_name() {
    let answers = call_all(&without(&[]));
    assert_eq!(answers.len(), FUNCTIONS.len());
    for (function, answer) in FUNCTIONS.iter().zip(answers) {
        assert_eq!(answer, number(function.name()), "{}", function.name());
    }
}

#[test]
fn a_driver_without_functions_answers_every_call_with_code_36() {
    // SAFETY: 1, 2: every symbol is null: there is no function.
    let driver = unsafe { Driver::from_lookup(|_| null()) };
    assert!(call_all(&driver).iter().all(|answer| answer.0 == 36));
    assert!(FUNCTIONS.iter().all(|function| !driver.has(function.name())));
    assert_eq!(driver.version(), Err(CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER));
    assert_eq!(driver.file(), None);
}

#[test]
fn the_launch_that_is_kept_can_always_be_called() {
    for (driver, expected) in [
        (without(&[]), number("cuLaunchKernelEx")),
        (without(&["cuLaunchKernelEx"]), CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER),
    ] {
        // SAFETY: neither function looks at its arguments.
        let code = unsafe { driver.launch_kernel_ex()(null(), null_mut(), null_mut(), null_mut()) };
        assert_eq!(code, expected);
    }
}

#[test]
fn each_function_can_be_missing_alone() {
    for hidden in FUNCTIONS.iter().step_by(step(246)) {
        let driver = without(&[hidden.name()]);
        for (function, answer) in FUNCTIONS.iter().zip(call_all(&driver)) {
            let missing = function.name() == hidden.name();
            assert_eq!(driver.has(function.name()), !missing);
            assert_eq!(driver.address(function.name()).is_null(), missing);
            let expected = if missing { CUresult(36) } else { number(function.name()) };
            assert_eq!(answer, expected, "{} without {}", function.name(), hidden.name());
        }
    }
}

#[test]
fn the_headers_names_mean_their_symbols() {
    let all = without(&[]);
    for &(alias, symbol) in ALIASES.iter().step_by(step(100)) {
        assert_ne!(alias, symbol);
        assert!(all.has(alias) && all.has(symbol));
        assert_eq!(all.address(alias), all.address(symbol));
        assert!(!without(&[symbol]).has(alias));
    }
    // SAFETY: the functions of these tests look at no argument.
    unsafe {
        assert_eq!(all.cuMemAlloc(null_mut(), 0), number("cuMemAlloc_v2"));
        assert_eq!(all.cuMemFree(0), number("cuMemFree_v2"));
        assert_eq!(all.cuMemcpyHtoD(0, null(), 0), number("cuMemcpyHtoD_v2"));
        assert_eq!(all.cuStreamDestroy(null_mut()), number("cuStreamDestroy_v2"));
        assert_eq!(
            all.cuEventElapsedTime(null_mut(), null_mut(), null_mut()),
            number("cuEventElapsedTime_v2")
        );
        assert_eq!(all.cuGraphInstantiate(null_mut(), null_mut(), 0), number("cuGraphInstantiateWithFlags"));
        assert_eq!(all.cuCtxCreate(null_mut(), null_mut(), 0, 0), number("cuCtxCreate_v4"));
    }
}

#[test]
fn unknown_names_are_not_there() {
    let driver = without(&[]);
    for name in ["", "cu", "cuMemAlloc_v9", "cuLaunchKernel_ptsz", "cuLaunchKerne", "zzz", "cuInit\0"] {
        assert!(!driver.has(name), "{name}");
        assert!(driver.address(name).is_null(), "{name}");
    }
}

#[test]
fn each_symbol_is_asked_for_once() {
    let mut asked = Vec::new();
    // SAFETY: 1, 2: every symbol is null: there is no function.
    let driver = unsafe {
        Driver::from_lookup(|symbol| {
            asked.push(symbol.to_str().unwrap().to_owned());
            null()
        })
    };
    // The one older name that may be looked up: its signature is that of the newer.
    const OLDER: &str = "cuEventElapsedTime";
    let (older, exact): (Vec<_>, Vec<_>) = asked.iter().map(String::as_str).partition(|name| *name == OLDER);
    assert_eq!(older, [OLDER]);
    assert_eq!(exact, FUNCTIONS.iter().map(|function| function.name()).collect::<Vec<_>>());
    let aliases: Vec<_> = ALIASES.iter().map(|(alias, _)| *alias).collect();
    assert!(exact.iter().all(|name| !aliases.contains(name)), "an old ABI was looked up");
    assert_eq!(*driver.origin(), Origin::Lookup);
}

#[test]
fn an_older_name_of_the_same_signature_serves() {
    let (all, older) = (without(&[]), without(&["cuEventElapsedTime_v2"]));
    assert!(!older.has("cuEventElapsedTime"));
    let lookup = |symbol: &CStr| match symbol.to_str().unwrap() {
        "cuEventElapsedTime" => all.address("cuEventElapsedTime_v2"),
        other => older.address(other),
    };
    // SAFETY: 1: functions of `all` and `older` under their own names, but for one, whose signature is the same; they
    // write nothing; 2: they are functions of this program, which stay.
    let driver = unsafe { Driver::from_lookup(lookup) };
    assert!(driver.has("cuEventElapsedTime_v2") && driver.has("cuEventElapsedTime"));
    // SAFETY: the functions of these tests look at no argument.
    let answer = unsafe { driver.cuEventElapsedTime(null_mut(), null_mut(), null_mut()) };
    assert_eq!(answer, number("cuEventElapsedTime_v2"));
}

/// A table in front of another one: the way spies and fault injectors are made.
#[test]
fn a_table_can_stand_in_front_of_another() {
    unsafe extern "C" fn refuse(_: u32) -> CUresult {
        CUresult::CUDA_ERROR_OPERATING_SYSTEM
    }
    let refuse: cuda_driver_sys::pfn::cuInit = refuse;
    let inner = without(&["cuMemAlloc_v2"]);
    let lookup = |symbol: &CStr| match symbol.to_str().unwrap() {
        "cuInit" => refuse as *const c_void,
        other => inner.address(other),
    };
    // SAFETY: 1: functions of `inner` under their own names, and `refuse`, which has cuInit's type and refuses as it may;
    // 2: they are functions of this program, which stay.
    let outer = unsafe { Driver::from_lookup(lookup) };
    // SAFETY: the functions of these tests look at no argument.
    unsafe {
        assert_eq!(outer.cuInit(0), CUresult::CUDA_ERROR_OPERATING_SYSTEM);
        assert_eq!(outer.cuCtxSynchronize(), inner.cuCtxSynchronize());
        assert_eq!(outer.cuMemAlloc(null_mut(), 1), CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
    }
}

#[test]
fn a_driver_can_be_shared_and_copied() {
    fn shareable<T: Send + Sync + Clone + std::fmt::Debug + 'static>(value: T) -> T {
        value
    }
    let driver = shareable(without(&["cuInit"])).clone();
    let text = format!("{driver:?}");
    assert_eq!(text, "Driver { origin: Lookup, functions: 510, .. }");
    let answers = std::thread::spawn(move || call_all(&driver)).join().unwrap();
    assert_eq!(answers.iter().filter(|answer| answer.0 == 36).count(), 1);
}

/// Code that is safe must not take away what the functions need.
#[test]
fn a_second_owner_comes_beside_the_first() {
    let (first, second) = (Arc::new(1), Arc::new(2));
    let counts = || (Arc::strong_count(&first), Arc::strong_count(&second));
    // SAFETY: 1, 2: every symbol is null: there is no function.
    let driver = unsafe { Driver::from_lookup(|_| null()) }.with_owner(first.clone());
    let clone = driver.clone().with_owner(second.clone());
    drop(driver);
    assert_eq!(counts(), (2, 2));
    drop(clone);
    assert_eq!(counts(), (1, 1));
}
