//! What kernels are told of the sizes of textures and surfaces.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::fmt::Write as _;
use std::ptr::{null, null_mut};

use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[("sizes", sizes)];

/// The levels that are asked about.
const LEVELS: [u32; 4] = [0, 1, 2, 9];

/// A kernel that stores width, height and depth as `ask` gives them, of the texture and of some levels, or of the surface.
fn questions(name: &str, ask: &str, levels: &[u32]) -> String {
    let (mut body, mut at) = (String::new(), 0);
    let levels = levels.iter().map(|level| (".level", format!(", {level}")));
    for (modifier, level) in [("", String::new())].into_iter().chain(levels) {
        for dimension in ["width", "height", "depth"] {
            writeln!(body, "{ask}{modifier}.{dimension}.b32 %r, [%o]{level}; st.global.u32 [%a+{at}], %r;")
                .unwrap();
            at += 4;
        }
    }
    format!(
        ".visible .entry {name}(.param .u64 object, .param .u64 out) {{\n.reg .b64 %o, %a; .reg .b32 %r;\n\
         ld.param.u64 %o, [object]; ld.param.u64 %a, [out];\n{body}ret;\n}}\n"
    )
}

/// Asks by that kernel about an object.
fn asked(cuda: &Driver, function: CUfunction, object: u64, count: usize) -> String {
    let (mut object, mut out) = (object, alloc(cuda, 12 * count));
    ok(launch(cuda, function, null_mut(), &mut [argument(&mut object), argument(&mut out)]));
    let mut words = vec![[0_u32; 3]; count];
    ok(unsafe { cuda.cuMemcpyDtoH(words.as_mut_ptr().cast(), out, 12 * count) });
    ok(unsafe { cuda.cuMemFree(out) });
    let sizes: Vec<String> = words.iter().map(|[w, h, d]| format!("{w}x{h}x{d}")).collect();
    sizes.join(" ")
}

fn descriptor([width, height, depth]: [usize; 3], flags: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
    let format = CUarray_format::CU_AD_FORMAT_FLOAT;
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: format,
        NumChannels: 1,
        Flags: flags,
    }
}

fn sizes(row: &mut Row) {
    let (cuda, _) = with_context();
    let text = questions("texture", "txq", &LEVELS) + &questions("surface", "suq", &[]);
    let module = load(&cuda, &format!(".version 8.0\n.target sm_90\n.address_size 64\n{text}"));
    let [of_texture, of_surface] = ["texture", "surface"].map(|name| function(&cuda, module, name));
    let mut ask = |label: &str, resource: CUDA_RESOURCE_DESC, is_surface: bool| {
        let (mut texture, mut surface) = (0, 0);
        let plain = CUDA_TEXTURE_DESC::default();
        ok(unsafe { cuda.cuTexObjectCreate(&mut texture, &resource, &plain, null()) });
        row.text(format!("{label}: {}", asked(&cuda, of_texture, texture, 1 + LEVELS.len())));
        if is_surface {
            ok(unsafe { cuda.cuSurfObjectCreate(&mut surface, &resource) });
            row.text(format!("{label} as surface: {}", asked(&cuda, of_surface, surface, 1)));
        }
    };
    let resource = |kind, res| CUDA_RESOURCE_DESC { resType: kind, res, flags: 0 };
    let (memory, format) = (alloc(&cuda, 1 << 16), CUarray_format::CU_AD_FORMAT_FLOAT);
    let linear = CUDA_RESOURCE_DESC_res_linear { devPtr: memory, format, numChannels: 1, sizeInBytes: 52 };
    ask(
        "linear",
        resource(CUresourcetype::CU_RESOURCE_TYPE_LINEAR, CUDA_RESOURCE_DESC_res { linear }),
        false,
    );
    let rows = CUDA_RESOURCE_DESC_res_pitch2D {
        devPtr: memory,
        format,
        numChannels: 1,
        width: 13,
        height: 7,
        pitchInBytes: 512,
    };
    ask(
        "pitched",
        resource(CUresourcetype::CU_RESOURCE_TYPE_PITCH2D, CUDA_RESOURCE_DESC_res { pitch2D: rows }),
        false,
    );
    let (layered, cube) = (CUDA_ARRAY3D_LAYERED, CUDA_ARRAY3D_CUBEMAP);
    let arrays = [
        ("1d", [13, 0, 0], 0),
        ("2d", [13, 7, 0], 0),
        ("3d", [13, 7, 5], 0),
        ("a1d", [13, 0, 4], layered),
        ("a2d", [13, 7, 4], layered),
        ("cube", [13, 13, 6], cube),
        ("acube", [13, 13, 18], cube | layered),
    ];
    for (label, size, flags) in arrays {
        let (mut array, mut mipmapped) = (null_mut(), null_mut());
        let descriptor = descriptor(size, flags | CUDA_ARRAY3D_SURFACE_LDST);
        ok(unsafe { cuda.cuArray3DCreate(&mut array, &descriptor) });
        let res = CUDA_RESOURCE_DESC_res { array: CUDA_RESOURCE_DESC_res_array { hArray: array } };
        ask(label, resource(CUresourcetype::CU_RESOURCE_TYPE_ARRAY, res), true);
        ok(unsafe { cuda.cuMipmappedArrayCreate(&mut mipmapped, &descriptor, 3) });
        let mipmap = CUDA_RESOURCE_DESC_res_mipmap { hMipmappedArray: mipmapped };
        let res = CUDA_RESOURCE_DESC_res { mipmap };
        ask(
            &format!("{label}, 3 levels"),
            resource(CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, res),
            false,
        );
    }
}
