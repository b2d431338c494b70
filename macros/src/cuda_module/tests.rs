//! The macro's errors for declarations that do not fit; `tests/compile_fail` of the crate shows how the compiler prints
//! them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use quote::quote;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::method::DUTIES;
use super::{expand, image};

/// The error messages in the macro's output for an `extern` block with this content.
fn problems_of(path: &str, block: &str) -> Vec<String> {
    let block: proc_macro2::TokenStream = block.parse().unwrap();
    let module = quote!(mod kernels { unsafe extern "C" { #block } });
    messages(expand(quote!(#path), module))
}

/// The literals of `compile_error!`.
fn messages(written: proc_macro2::TokenStream) -> Vec<String> {
    use proc_macro2::TokenTree as T;
    let tokens: Vec<T> = written.into_iter().collect();
    let mut found = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            T::Ident(name) if *name == "compile_error" => {
                if let Some(T::Group(group)) = tokens.get(i + 2) {
                    found.push(syn::parse2::<syn::LitStr>(group.stream()).unwrap().value());
                }
            }
            T::Group(group) => found.extend(messages(group.stream())),
            _ => {}
        }
    }
    found
}

/// The kernels of tests/kernels/typed.ptx, and one of everything.
const IMAGE: &str = "../examples/kernels/mix.ptx";
const TYPED: &str = "../tests/kernels/typed.ptx";
const SAXPY: &str = "../examples/kernels/saxpy.ptx";

#[track_caller]
fn refused(path: &str, block: &str, expected: &[&str]) {
    let found = problems_of(path, block);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found}\ndoes not contain\n{expected}");
    }
}

#[test]
fn what_fits_is_accepted() {
    refused(SAXPY, "pub fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);", &[]);
    refused(SAXPY, "fn saxpy(n: i32, alpha: f32, x: u64, y: DevicePtrMut<f32>);", &[]);
    refused(SAXPY, "", &[]);
}

#[test]
fn sizes_and_kinds_of_numbers() {
    refused(
        SAXPY,
        "fn saxpy(n: u64, alpha: f32, x: *const f32, y: *mut f32);",
        &[
            "kernel `saxpy` parameter 0 `n` is `.u32` (4 bytes, line 8 of ../examples/kernels/saxpy.ptx); `u64` has 8 bytes\n\
           help: declare `u32` or `i32`",
        ],
    );
    refused(
        SAXPY,
        "fn saxpy(n: f32, alpha: i32, x: f64, y: *mut f32);",
        &[
            "parameter 0 `n` is `.u32` (4 bytes, line 8 of ../examples/kernels/saxpy.ptx); `f32` is a floating-point number",
            "parameter 1 `alpha` is `.f32` (4 bytes, line 9 of ../examples/kernels/saxpy.ptx); `i32` is not a floating-point number\n\
             help: declare `f32`",
            "`f64` is a floating-point number\nhelp: declare `u64` or `i64`, `*const T` or `*mut T`",
        ],
    );
    refused(
        TYPED,
        "#[entry(f32 = \"scale_float\", f64 = \"scale_float\")] fn scale<T>(x: &mut [T], factor: T);",
        &["kernel `scale_float` parameter 2 `factor` is `.f32` (4 bytes, line 14"],
    );
}

#[test]
fn slices_are_two_parameters() {
    refused(
        "../examples/kernels/fill.ptx",
        "fn fill(out: &mut [u32], value: u32);",
        &[
            "parameter 1 `out` is `.u32` (4 bytes, line 9 of ../examples/kernels/fill.ptx); the length of `[u32]` has 8 bytes",
        ],
    );
    refused(
        TYPED,
        "safe fn bounded(out: &mut [u32], n: u32);",
        &[
            "kernel `bounded` has 2 parameters in ../tests/kernels/typed.ptx (line 202); this declaration makes 3 parameters (a \
           slice is two)\n  # here                  | ../tests/kernels/typed.ptx\n  0 out: address of [u32] | .u64 (8 bytes, \
           line 203)\n  1 out: length of [u32]  | .u64 (8 bytes, line 204)\n  2 n: u32                | -",
        ],
    );
}

#[test]
fn names() {
    refused(TYPED, "fn bouned(out: &mut [u32]);", &["has no kernel `bouned`\nhelp: did you mean `bounded`?"]);
    refused(SAXPY, "fn quite_another();", &["has no kernel `quite_another`; it has `saxpy`"]);
    refused(TYPED, "static mut count: [u32; 4];", &["has no variable `count`\nhelp: did you mean `counts`?"]);
    refused(
        TYPED,
        "static counts: [u32; 4];",
        &["variable `counts` is `.global` (line 6 of ../tests/kernels/typed.ptx)\nhelp: \
                                                  declare it as `static mut counts`"],
    );
    refused(
        TYPED,
        "static mut LEVELS: [f32; 4];",
        &["is `.const` (line 8 of ../tests/kernels/typed.ptx)\nhelp: declare it as `static LEVELS`"],
    );
    refused(SAXPY, "fn functions();", &["the struct `Module` already has a method `functions`"]);
}

#[test]
fn types_that_no_kernel_takes() {
    for (ty, message) in [
        (
            "&f32",
            "a kernel cannot take a reference to a host value\nhelp: `f32` passes the value, `&[f32]` a slice",
        ),
        (
            "&mut u32",
            "`&mut [u32]` a slice of device memory (address and length), `*mut u32` an address alone",
        ),
        ("&str", "a kernel cannot take `&str`"),
        ("&[f32; 4]", "a reference to a host array"),
        ("*const [f32]", "the length of a slice is a separate parameter"),
        ("bool", "help: declare `u8`, and pass `u8::from(flag)`"),
        ("char", "help: declare `u32`"),
        ("Option<f32>", "help: an address that may be null is `DevicePtr<f32>`"),
        ("String", "text is passed as bytes"),
        ("Vec<f32>", "a kernel takes device memory as `&[f32]`"),
        ("cuda_launch::DeviceBuffer<f32>", "a kernel takes device memory as `&[f32]`"),
        ("DeviceViewMut<'_, f32>", "`&mut [T]`"),
        ("TextureObject", "declare `&TextureObject`"),
        ("SurfaceObject", "or `&mut SurfaceObject` to write through it"),
        ("(f32, u32)", "a tuple cannot be a kernel parameter"),
        ("()", "leave it out"),
        ("[f32]", "write `&[f32]`"),
        ("fn(u32) -> u32", "the device cannot call host functions"),
        ("impl Fn(u32)", "name the type: `fn map<F: Copy>(f: F, ..)`"),
        ("dyn Fn(u32)", "a kernel cannot take this type"),
    ] {
        let message =
            if ty.starts_with("DeviceViewMut") { "takes device memory that it writes as" } else { message };
        refused(SAXPY, &format!("fn saxpy(n: {ty});"), &[message]);
    }
}

#[test]
fn safe_kernels_take_addresses_whose_length_the_contract_knows() {
    const DECLARED: &str = "safe fn saxpy(n: u32, alpha: f32, x: *const f32, r#y: *mut f32);";
    let with = |conditions: &str| format!("#[launch_contract(requires = ({conditions}))] {DECLARED}");
    let [of_x, of_y] = ["the address `x` without a contract", "what `r#y` has to hold, `#[launch_contract"];
    refused(SAXPY, DECLARED, &[of_x, "or take a slice, `r#y: &mut [T]`, if the kernel does"]);
    for (conditions, expected) in [
        ("", [of_x, of_y].as_slice()),
        ("n as usize <= x.len()", &[of_y]),
        ("!y.is_empty()", &[of_x]),
        // Lengths of other values.
        ("all.x.len() > 0, n.x.y.len() > 0, xy.len() > 0, x.size() > 0, x + len() > 0", &[of_x, of_y]),
        ("n as usize <= x.len(), n as usize <= y.len()", &[]),
        ("matches!((x.len(), r#y.len()), (8, 8))", &[]),
        ("(0..y.len()).contains(&{ x.len() })", &[]),
    ] {
        refused(SAXPY, &with(conditions), expected);
    }
    refused(SAXPY, &format!("#[launch_contract(block = (x.len(), y.len(), 1))] {DECLARED}"), &[of_x, of_y]);
    refused(
        IMAGE,
        "safe fn apply<F: Copy>(f: F, out: &mut [u32]);",
        &["a `safe fn` cannot take a value of any type"],
    );
}

/// Whatever the name of a type, the compiler checks whether it contains an address; not in a plain `fn`.
#[test]
fn types_of_safe_kernels_are_left_to_the_compiler() {
    let written = |declaration: &str| {
        let block: proc_macro2::TokenStream = declaration.parse().unwrap();
        expand(quote!("../examples/kernels/saxpy.ptx"), quote!(mod kernels { unsafe extern "C" { #block } }))
            .to_string()
    };
    let safe = written(
        "#[launch_contract(requires = (z.len() > 0))] safe fn saxpy(n: u32, alpha: f32, x: Anything, y: &mut [Element], z: *const Behind);",
    );
    for ty in ["u32", "f32", "Anything", "Element", "Behind"] {
        let asked = format!(":: cuda_launch :: __private :: typed :: without_address :: < {ty} > ()");
        assert!(safe.contains(&asked), "{ty}: {safe}");
    }
    assert!(!written("fn saxpy(n: u32, alpha: f32, x: Anything, y: u64);").contains("without_address"));
    let generic = written(
        "#[entry(f32 = \"saxpy\", Other = \"saxpy\")] safe fn any<T>(n: u32, a: f32, x: [T; 1], y: u64);",
    );
    assert!(generic.contains("without_address :: < [f32 ; 1] >"), "{generic}");
    assert!(generic.contains("without_address :: < [Other ; 1] >"), "{generic}");
}

#[test]
fn what_else_a_declaration_cannot_have() {
    refused(SAXPY, "fn saxpy(n: u32) -> u32;", &["a kernel has no return value"]);
    refused(SAXPY, "fn saxpy<'a>(n: &'a [u32]);", &["a kernel has no lifetimes"]);
    refused(SAXPY, "fn saxpy(n: u32, ...);", &["a fixed number of parameters"]);
    refused(SAXPY, "fn saxpy(&self);", &["a kernel has no `self`"]);
    refused(SAXPY, "fn saxpy(_: u32);", &["give the parameter a name"]);
    refused(SAXPY, "type T;", &["holds kernels, `fn name(..);`, and variables"]);
    refused(
        TYPED,
        "#[entry(f32 = \"scale_float\")] fn scale(x: &mut [f32]);",
        &["is for a kernel that is generic over types alone"],
    );
    refused(
        TYPED,
        "#[entry(f32 = \"a\", f32 = \"b\")] fn scale<T>(x: &mut [T]);",
        &["this type has an entry already"],
    );
    refused(
        TYPED,
        "#[entry(f32 = \"a\")] fn scale<A, B>(x: &mut [A], y: &[B]);",
        &["2 type parameters, so a name is that of as many types: `(A, B, ..)"],
    );
    refused(TYPED, "#[entry(\"a\")] #[entry(\"b\")] fn scale();", &["a kernel has one `#[entry(..)]`"]);
    refused(TYPED, "#[cluster_launch(0)] fn bounded(out: &mut [u32]);", &["give one to three dimensions"]);
    refused(
        IMAGE,
        "#[cluster_launch(2)] fn ranks_fixed(out: &mut [u32]);",
        &["was compiled for clusters of [4, 1, 1] blocks, not [2, 1, 1]"],
    );
    refused(
        TYPED,
        "#[launch_bounds(256)] fn bounded(out: &mut [u32]);",
        &["was compiled for at most 128 threads per block, not 256"],
    );
    refused(
        TYPED,
        "#[launch_contract(blocks = 1)] fn bounded(out: &mut [u32]);",
        &["a launch contract knows"],
    );
    refused(
        TYPED,
        "#[launch_contract(block = (1, 1, 1), block = (1, 1, 1))] fn bounded(out: &mut [u32]);",
        &["`block` is given twice"],
    );
}

#[test]
fn every_problem_is_told_at_once() {
    let both = problems_of(SAXPY, "fn saxpy(n: u64, alpha: f32, x: u32, y: *mut f32); fn sapy();");
    assert_eq!(both.len(), 3, "{both:#?}");
    let both = problems_of(SAXPY, "fn a(x: bool, y: char); fn b(x: &u8);");
    assert_eq!(both.len(), 3, "{both:#?}");
}

#[test]
fn every_image_is_checked() {
    let module = quote!(
        mod k {
            unsafe extern "C" {
                fn vecadd(a: &[f32], b: &[f32], c: &mut [f32], n: u32);
            }
        }
    );
    let found = messages(expand(
        quote!(
            "../examples/kernels/vecadd.ptx",
            "../tests/kernels/vecadd_sm90.cubin",
            "../tests/kernels/vecadd_plain.fatbin"
        ),
        module.clone(),
    ));
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[1].contains("in ../tests/kernels/vecadd_sm90.cubin; this"), "{}", found[1]);
    let cubin = "../tests/kernels/vecadd_sm90.cubin";
    refused(
        cubin,
        "fn vecadd(a: &[f32], b: &[f32], c: *mut f32, n: u32);",
        &[
            "parameter 5 `n` is 8 bytes in ../tests/kernels/vecadd_sm90.cubin; `u32` has 4 bytes\nhelp: declare a type of 8 bytes",
        ],
    );
}

#[test]
fn arguments_of_the_attribute() {
    let refused = |arguments, expected: &str| {
        let found = messages(expand(
            arguments,
            quote!(
                mod k {
                    unsafe extern "C" {}
                }
            ),
        ));
        assert!(found.len() == 1 && found[0].contains(expected), "{found:#?}");
    };
    refused(quote!(), "takes the file that has the kernels");
    refused(quote!(1), "takes the file that has the kernels");
    refused(quote!(include_str!("x")), "takes the file that has the kernels");
    refused(quote!("a.ptx", "a.ptx"), "`a.ptx` is given twice");
    refused(quote!("a.ptx", name = b), "is `crate = path::to::cuda_launch`");
    refused(quote!(env!("NO_SUCH_VARIABLE")), "the environment variable `NO_SUCH_VARIABLE` is not set");
    refused(quote!(concat!(env!("OUT_DIR"), "/a.ptx")), "cargo sets it for crates that have a build script");
    refused(quote!("no/such.ptx"), "no/such.ptx: cannot be read: ");
    refused(quote!("src/problem.rs"), "help: beside it is `problems.rs`");
    refused(quote!("Cargo.toml"), "expected PTX text, a cubin or a fatbin");
}

#[test]
fn modules_that_are_none() {
    let refused = |module, expected: &str| {
        let found = messages(expand(quote!("../examples/kernels/saxpy.ptx"), module));
        assert!(found.len() == 1 && found[0].contains(expected), "{found:#?}");
    };
    refused(
        quote!(
            mod k;
        ),
        "needs the module's content here",
    );
    refused(
        quote!(
            mod k {}
        ),
        "has no `unsafe extern \"C\" { .. }` block",
    );
    refused(
        quote!(
            mod k {
                extern "C" {}
            }
        ),
        "write `unsafe extern \"C\"`",
    );
    refused(
        quote!(
            mod k {
                unsafe extern "ptx-kernel" {}
            }
        ),
        "declared in `unsafe extern \"C\"`",
    );
    refused(
        quote!(
            mod k {
                unsafe extern "C" {}
                unsafe extern "C" {}
            }
        ),
        "a typed module has one `extern` block",
    );
    refused(
        quote!(
            struct S;
        ),
        "stands on `mod kernels",
    );
}

#[test]
fn an_image_is_read_once_until_it_changes() {
    let path = std::env::temp_dir().join(format!("cuda-launch-macros-{}.ptx", std::process::id()));
    std::fs::write(&path, ".version 7.0\n.target sm_52\n").unwrap();
    let first = image::facts(&path).unwrap();
    assert!(Arc::ptr_eq(&first, &image::facts(&path).unwrap()));
    std::fs::write(&path, ".version 7.0\n.target sm_52\n.visible .entry k() { ret; }\n").unwrap();
    let second = image::facts(&path).unwrap();
    assert_eq!(second.kernels.as_ref().unwrap().len(), 1);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn compressed_images_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx/tests/data");
    let names = |file: &str| -> Vec<String> {
        let facts = image::facts(&folder.join(file)).unwrap();
        let mut names: Vec<String> = facts.kernels.as_ref().unwrap().iter().map(|k| k.name.clone()).collect();
        names.sort();
        names
    };
    for file in ["basic.plain.fatbin", "basic.lz4.fatbin", "basic.zstd.fatbin"] {
        assert_eq!(names(file), ["scale", "vecadd"], "{file}");
    }
}

/// 20 kernels in 1 MB of text: the macro may take 300 ms, without optimisation and on a busy machine.
#[test]
fn a_large_image_is_read_quickly() {
    let mut text = String::from(".version 7.8\n.target sm_75\n.address_size 64\n");
    for kernel in 0..20 {
        let parameters: Vec<String> =
            (0..6).map(|i| format!("\t.param .u64 kernel_{kernel}_param_{i}")).collect();
        text += &format!(".visible .entry kernel_{kernel}(\n{}\n)\n{{\n", parameters.join(",\n"));
        text += &"\tfma.rn.f32 \t%f1, %f2, %f3, %f4;\n".repeat(1600);
        text += "}\n";
    }
    assert!(text.len() > 1_000_000, "{}", text.len());
    let path = std::env::temp_dir().join(format!("cuda-launch-macros-large-{}.ptx", std::process::id()));
    std::fs::write(&path, &text).unwrap();
    let shown = path.to_str().unwrap();
    let kernels: Vec<String> =
        (0..20).map(|k| format!("safe fn kernel_{k}(a: &[f32], b: &[f32], c: &mut [f32]);")).collect();
    let start = Instant::now();
    let found = problems_of(shown, &kernels.concat());
    let took = start.elapsed();
    assert_eq!(found, Vec::<String>::new());
    assert!(took < Duration::from_millis(300), "{took:?}");
    std::fs::remove_file(&path).unwrap();
}

/// Of files that are compiled later, the macro knows only their kind and the headers beside them.
#[test]
fn sources_are_what_their_ending_says() {
    const ANY: &str = "fn of_another_file(x: u8);";
    for file in ["examples/kernels/vecadd.cu", "tests/kernels/vecadd.ll", "tests/kernels/vecadd.ltoir"] {
        refused(&format!("../{file}"), ANY, &[]);
    }
    let folder = std::env::temp_dir().join(format!("cuda-launch-macros-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    refused(
        &file("a.ltoir", "PTX"),
        ANY,
        &["the file does not match its extension: a `.ltoir` file is LTO IR"],
    );
    refused(&file("a.cu", " "), ANY, &["a `.cu` file is CUDA C++"]);
    file("sub/x.h", "");
    file("sub/y.h", "# include  \"x.h\"");
    let good = file("good.cu", "#include \"sub/y.h\"\n#include <x.h>\n#include \"nowhere.h\"");
    refused(&good, ANY, &[]);
    file("x.h", "");
    refused(&file("two.cu", "#include \"sub/y.h\"\n#include \"x.h\""), ANY, &["means two files"]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A caller answers by number: those of `cuda_launch!`.
#[test]
fn an_unsafe_method_numbers_its_duties() {
    let numbers = |duties: &[&str]| -> Vec<usize> {
        duties.iter().map(|line| line.split_once(". ").unwrap().0.parse().unwrap()).collect()
    };
    let text = std::fs::read_to_string("../src/launch/macros.rs").unwrap();
    let (above, _) = text.split_once("macro_rules! cuda_launch {").unwrap();
    let (_, duties) = above.rsplit_once("# Safety").unwrap();
    let named = |line: &str| line.strip_prefix("/// ")?.split_once(": ").map(|(name, _)| name.to_owned());
    let of_macro: Vec<_> = duties.lines().filter_map(named).filter(|name| name.contains(". ")).collect();
    assert_eq!(numbers(&DUTIES), [1, 2, 3, 4, 5, 6]);
    assert_eq!(DUTIES.map(|line| line.split_once(": ").unwrap().0.to_owned())[..], of_macro[..]);
    let written = |block: &str| {
        let block: proc_macro2::TokenStream = block.parse().unwrap();
        expand(quote!(#SAXPY), quote!(mod kernels { unsafe extern "C" { #block } })).to_string()
    };
    let says = |block: &str| DUTIES.iter().filter(|duty| written(block).contains(**duty)).count();
    assert_eq!(says("fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);"), 6);
    assert_eq!(says("safe fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);"), 0);
}
