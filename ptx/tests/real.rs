//! What nvcc and rustc write, compared with counts made in another way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use cuda_ptx::image::Image;
use cuda_ptx::{Function, FunctionKind, Init, Linkage, Module, Space, Statement, Variable, outline, parse};

/// Every PTX fixture parses, bodies too.
#[test]
fn everything_parses() {
    for name in common::fixtures(".ptx") {
        let text = common::text(&name);
        let module = parse(&text).unwrap_or_else(|e| panic!("{name}: {e:#}"));
        for function in &module.functions {
            function.statements().unwrap_or_else(|e| panic!("{name}: {e:#}"));
        }
    }
}

/// Kernels and variables are those that the parser finds.
#[test]
fn outlines_are_those_of_the_whole_module() {
    let odd = ".version 8.0\n.target sm_90, debug\n.address_size 64\n.file 1 \"a;{\"\n.section .debug_str { .b8 1 }\n\
        .global .u64 here[3] = {generic(k)+8, (1 + 2) * 4, 0xff00(k)}, next = here, last;\n.extern .global .u32 elsewhere;\n\
        .const[2] .f64 numbers[2][2] = {{1.5, -2e3}, {0d3ff0000000000000, 0f3f800000}};\n.extern .func f(.param .u64 .ptr .global q);\n\
        .visible .global .attribute(.managed) .align 8 .v2 .f32 pair;\n.shared .b8 own[4];\n.global .samplerref s = { addr_mode_0 = wrap };\n\
        .func (.param .b32 r) g(.param .b32 .ptr .const .align 4 p) { .global .b8 inside; { } ret; }\n.extern .entry later(.param .u32 n);\n\
        .visible .entry .attribute(.unified(1, 2)) k(.param .u64 .ptr .shared .align 16 p, .param .align 8 .b8 q[2][0x0c], .param .b8 lanes[WARP_SZ], .param .align 4 .u64 low, .param .v4 .f32 v,\n\
            .param .align 32 .u8 w[])\n.maxntid 8, 4\n.minnctapersm 2 .maxnreg 020 .pragma \"nounroll\"; .reqnctapercluster 2 .explicitcluster\n\
        { .const .b8 inside; ret; }\n.weak .entry l() .reqntid 32, 2, 1 .blocksareclusters .maxclusterrank 4 { ret; } .global .b8 end;";
    let fixtures = common::fixtures(".ptx").into_iter().map(|name| common::text(&name));
    let (mut parameters, mut variables) = (0, 0);
    for text in fixtures.chain([odd.to_string()]) {
        let (whole, outline) = (parse(&text).unwrap(), outline(&text).unwrap());
        assert_eq!((outline.version, outline.target), (whole.version, whole.targets[0]));
        let is_kernel = |f: &&Function<'_>| f.kind == FunctionKind::Entry && f.body.is_some();
        let kernels: Vec<_> = whole.functions.iter().filter(is_kernel).collect();
        assert_eq!(outline.kernels.len(), kernels.len());
        for (found, kernel) in outline.kernels.iter().zip(kernels) {
            assert_eq!((found.name, &found.directives), (kernel.name, &kernel.directives));
            let of_outline =
                found.parameters.iter().map(|p| (p.name.to_string(), p.ty, p.size, p.align, p.array));
            let of_kernel = kernel.parameters().into_iter().map(|p| (p.name, p.ty, p.size, p.align, p.array));
            assert!(of_outline.clone().eq(of_kernel.clone()), "{of_outline:?} {of_kernel:?}");
            parameters += found.parameters.len();
        }
        let in_memory = |v: &&Variable<'_>| {
            matches!(v.space, Space::Global | Space::Const) && v.linkage != Linkage::Extern
        };
        let declared: Vec<_> = whole.variables.iter().filter(in_memory).map(|v| (v.name, v.space)).collect();
        assert_eq!(outline.variables, declared);
        variables += declared.len();
    }
    assert!(parameters > 100 && variables > 10, "{parameters} {variables}");
}

/// A text that ends early is refused or ends there: no prefix of it is read for ever.
#[test]
fn outlines_of_truncated_texts_end() {
    for name in common::fixtures(".ptx") {
        let text = common::text(&name);
        for end in (0..text.len().min(20_000)).step_by(7).filter(|end| text.is_char_boundary(*end)) {
            let _ = outline(&text[..end]);
        }
    }
}

/// (labels, instructions, `.loc`) of a body, by splitting its text.
fn counted_by_hand(body: &str) -> (usize, usize, usize) {
    let lines: Vec<&str> = body.lines().map(|l| l.split("//").next().unwrap().trim()).collect();
    let labels = lines.iter().filter(|l| l.ends_with(':')).count() + body.matches(": .").count();
    let locs = lines.iter().filter(|l| l.starts_with(".loc\t")).count();
    let code: String = lines
        .iter()
        .filter(|l| !l.ends_with(':') && !l.starts_with(".loc\t"))
        .map(|l| format!("{l} "))
        .collect();
    let is_instruction = |part: &str| {
        let part = part.trim_start_matches(['{', '}', ' ', '\t']);
        !part.is_empty() && !part.starts_with('.') && !part.contains(": .")
    };
    (labels, code.split(';').filter(|part| is_instruction(part)).count(), locs)
}

fn counted_by_parser(function: &Function<'_>) -> (usize, usize, usize) {
    let (mut labels, mut instructions, mut locs) = (0, 0, 0);
    common::walk(&function.statements().unwrap(), &mut |s| match s {
        Statement::Label(_) => labels += 1,
        Statement::Instruction(_) => instructions += 1,
        Statement::Loc { .. } => locs += 1,
        _ => {}
    });
    (labels, instructions, locs)
}

#[test]
fn counts() {
    let mut total = 0;
    for name in common::fixtures(".ptx") {
        let text = common::text(&name);
        for function in parse(&text).unwrap().functions.iter().filter(|f| f.body.is_some()) {
            let found = counted_by_parser(function);
            assert_eq!(found, counted_by_hand(function.body.unwrap()), "{name}: {}", function.name);
            total += found.1;
        }
    }
    assert!(total > 1500, "{total}");
}

/// Without blanks and with offsets in one spelling.
fn normal(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    text.replace("+0]", "]").replace(";", "")
}

/// Every instruction printed again is the text that it was read from, and parses to itself.
#[test]
fn instructions_print_as_they_were_written() {
    let mut seen = 0;
    for name in common::fixtures(".ptx") {
        let text = common::text(&name);
        let module = parse(&text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for function in module.functions.iter().filter(|f| f.body.is_some()) {
            common::walk(&function.statements().unwrap(), &mut |s| {
                let Statement::Instruction(i) = s else { return };
                let printed = format!("{i};");
                // A call spans lines; the others share theirs with nothing but a comment or a closing brace.
                let source =
                    lines[i.line as usize - 1].split("//").next().unwrap().trim_end_matches(['}', ' ']);
                if source.ends_with(';') && source.matches(';').count() == 1 {
                    assert_eq!(normal(&printed), normal(source), "{name} line {}", i.line);
                    seen += 1;
                }
                let module = common::module_with(&printed);
                match &common::statements(&module)[..] {
                    [Statement::Instruction(again)] => assert_eq!(
                        (&again.guard, again.name, &again.operands),
                        (&i.guard, i.name, &i.operands)
                    ),
                    other => panic!("{printed}: {other:?}"),
                }
            });
        }
    }
    assert!(seen > 1500, "{seen}");
}

fn kernel<'m, 'a>(module: &'m Module<'a>, name: &str) -> &'m Function<'a> {
    module.functions.iter().find(|f| f.name == name && f.body.is_some()).unwrap()
}

/// The signatures in the PTX are those in the cubin that was made from the same source.
#[test]
fn signatures_agree_with_the_cubins() {
    let mut compared = 0;
    for name in ["basic", "features", "cluster"] {
        let (text, bytes) =
            (common::text(&format!("{name}.ptx")), common::data(&format!("{name}.sm_90.cubin")));
        let (ptx, cubin) = (Image::read(text.as_bytes()).unwrap(), Image::read(&bytes).unwrap());
        let ptx = ptx.kernels().unwrap();
        for found in cubin.kernels().unwrap() {
            let told = ptx.iter().find(|k| k.name == found.name).unwrap();
            assert_eq!(told.parameters, found.parameters, "{}", found.name);
            assert_eq!(told.parameter_bytes, found.parameter_bytes, "{}", found.name);
            assert_eq!(
                (told.max_threads, told.required_threads, told.cluster, told.max_cluster_rank),
                (found.max_threads, found.required_threads, found.cluster, found.max_cluster_rank)
            );
            assert_eq!(
                (told.explicit_cluster, told.blocks_are_clusters),
                (found.explicit_cluster, found.blocks_are_clusters)
            );
            compared += 1;
        }
        assert_eq!(ptx.len(), cubin.kernels().unwrap().len());
    }
    assert_eq!(compared, 13);
}

#[test]
fn features_of_nvcc() {
    for name in ["features.ptx", "features.sm_100.ptx", "features.lineinfo.ptx"] {
        let text = common::text(name);
        let m = parse(&text).unwrap();
        assert_eq!((m.version, m.address_size, m.variables.len()), ((9, 0), 64, 13), "{name}");
        let structs = kernel(&m, "structs");
        let sizes: Vec<_> = structs.parameters().iter().map(|p| (p.offset, p.size, p.align)).collect();
        assert_eq!(
            sizes,
            [
                (0, 4, 2),
                (16, 32, 16),
                (48, 80, 8),
                (128, 1, 1),
                (132, 12, 4),
                (144, 16, 16),
                (160, 8, 8),
                (176, 16, 16)
            ]
        );
        let variable = |name: &str| m.variables.iter().find(|v| v.name == name).unwrap();
        assert!(variable("shared_with_host").managed);
        assert_eq!(
            variable("pointer_into").init,
            Some(Init::Address { symbol: "counters", offset: 8, generic: true, mask: None })
        );
        assert_eq!(variable("table").size(), 32);
        assert_eq!(m.functions.iter().filter(|f| f.kind == FunctionKind::Entry).count(), 8);
    }
}

#[test]
fn line_tables() {
    let text = common::text("features.lineinfo.ptx");
    let m = parse(&text).unwrap();
    assert_eq!(m.files.len(), 3);
    assert!(m.files[0].1.ends_with("features.cu"));
    let debug = common::text("basic.debug.ptx");
    assert_eq!(parse(&debug).unwrap().targets, ["sm_90", "debug"]);
}

#[test]
fn debug_information() {
    for name in ["basic.debug.ptx", "named.debug.ptx", "named.clang.ptx", "rust.debug.ptx"] {
        let text = common::text(name);
        let m = parse(&text).unwrap();
        let sections = m.section_bytes(&[".debug_info", ".debug_abbrev", ".debug_none"]).unwrap();
        let [info, abbreviations, none] = &sections[..] else { panic!() };
        // A unit begins with its length, without the length itself.
        assert_eq!(u32::from_le_bytes(info[..4].try_into().unwrap()) as usize, info.len() - 4, "{name}");
        assert_eq!((&info[4..10], info[10]), (&[2, 0, 0, 0, 0, 0][..], 8), "{name}");
        assert_eq!((abbreviations[..2].to_vec(), none.len()), (vec![1, 17], 0), "{name}");
    }
    assert_eq!(parse(&common::text("basic.ptx")).unwrap().sections, []);
}

#[test]
fn pointers_have_attributes_since_sm_100() {
    let text = common::text("basic.sm_100.ptx");
    let m = parse(&text).unwrap();
    let pointers: Vec<_> =
        kernel(&m, "vecadd").parameters().iter().map(|p| p.pointer.map(|a| a.align)).collect();
    assert_eq!(pointers, [Some(1), Some(1), Some(1), None]);
}

#[test]
fn clusters() {
    let text = common::text("cluster.ptx");
    let m = parse(&text).unwrap();
    let ring = &kernel(&m, "ring").directives;
    assert_eq!(
        (ring.maxntid, ring.reqnctapercluster, ring.explicitcluster),
        (Some([128, 1, 1]), Some([2, 1, 1]), true)
    );
    assert_eq!(kernel(&m, "fixed_block").directives.reqntid, Some([64, 2, 1]));
}

/// What the parsers of others refuse.
#[test]
fn rust() {
    let text = common::text("rust.ptx");
    let m = parse(&text).unwrap();
    let slice = m.variables.iter().find(|v| v.name == "SLICE").unwrap();
    let Some(Init::List(parts)) = &slice.init else { panic!("{slice:?}") };
    assert!(matches!(parts[0], Init::Address { generic: true, symbol, .. } if symbol.ends_with("TABLE")));
    assert!(m.variables.iter().any(|v| v.name.starts_with("anon_$_")));
    let never = m.functions.iter().find(|f| f.noreturn).unwrap();
    assert!(never.name.ends_with("5never"));
    let statements = kernel(&m, "choose").statements().unwrap();
    assert!(statements.iter().any(|s| matches!(s, Statement::Targets(t) if t.len() == 10)));
    assert!(statements.iter().any(|s| matches!(s, Statement::Instruction(i) if i.name == "brx.idx")));
}
