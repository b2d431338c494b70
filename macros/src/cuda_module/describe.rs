//! The wording of messages about the image's and the Rust signature's parameters.

use cuda_ptx::Type;

use super::check::Known;
use super::image::{Kernel as ImageKernel, Parameter as ImageParameter};
use super::parameter::{Kind, Parameter, show};

pub(super) fn bytes(n: usize) -> String {
    if n == 1 { "1 byte".into() } else { format!("{n} bytes") }
}

/// `.u32` (4 bytes, line 12 of kernels/vecadd.ptx)
pub(super) fn describe(parameter: &ImageParameter, image: &str) -> String {
    match parameter.text {
        Some(text) => {
            let align = if text.array { format!(", aligned to {}", text.align) } else { String::new() };
            format!("`{}` ({}{align}, line {} of {image})", ty(parameter), bytes(parameter.size), text.line)
        }
        None => format!("{} in {image}", bytes(parameter.size)),
    }
}

fn ty(parameter: &ImageParameter) -> String {
    match parameter.text {
        Some(text) if text.array => format!("{}[{}]", text.ty, parameter.size / text.ty.size().max(1)),
        Some(text) => text.ty.to_string(),
        None => bytes(parameter.size),
    }
}

#[derive(PartialEq)]
enum Class {
    Float,
    Integer,
    /// `.b32`: bits of either.
    Bits,
}

fn class(ty: Type) -> Class {
    match ty.name().as_bytes() {
        [b'f' | b't', ..] if !ty.is_opaque() => Class::Float,
        name if name.starts_with(b"bf") || name.starts_with(b"e4m3") || name.starts_with(b"e5m2") => {
            Class::Float
        }
        [b'u' | b's', ..] if !ty.is_opaque() => Class::Integer,
        _ => Class::Bits,
    }
}

/// The error for a float instead of an integer or the reverse, if the image distinguishes them.
pub(super) fn class_mismatch(wanted: &ImageParameter, what: &str, float: bool) -> Option<String> {
    let text = wanted.text.filter(|text| !text.array)?;
    match class(text.ty) {
        Class::Float if !float => Some(format!("{what} is not a floating-point number")),
        Class::Integer if float => Some(format!("{what} is a floating-point number")),
        _ => None,
    }
}

/// The description of one kernel parameter, with its offset.
pub(super) fn words(parameter: &ImageParameter) -> String {
    match parameter.text {
        Some(text) => format!("`{}` (line {})", ty(parameter), text.line),
        None => bytes(parameter.size),
    }
}

/// The error for two images whose kernels with the same name have different parameters: no declaration fits both.
pub(super) fn disagreement(
    first: Option<(&Known, &ImageKernel)>,
    (image, second): (&Known, &ImageKernel),
) -> Option<String> {
    let (other, first) = first?;
    let (a, b) = (first.parameters.as_ref()?, second.parameters.as_ref()?);
    let same = |(a, b): (&ImageParameter, &ImageParameter)| {
        let text = a.text.zip(b.text);
        a.size == b.size
            && text.is_none_or(|(a, b)| a.array == b.array && (a.array || classes_agree(a.ty, b.ty)))
    };
    if a.len() == b.len() && a.iter().zip(b).all(same) {
        return None;
    }
    let list = |parameters: &[ImageParameter]| {
        let list: Vec<String> = parameters.iter().map(|p| format!("`{}`", ty(p).trim_matches('`'))).collect();
        if list.is_empty() { "nothing".to_string() } else { list.join(", ") }
    };
    Some(format!(
        "the images disagree about kernel `{}`\n  {}: {}\n  {}: {}\nhelp: build them from one source",
        second.name,
        other.shown,
        list(a),
        image.shown,
        list(b)
    ))
}

fn classes_agree(a: Type, b: Type) -> bool {
    let (a, b) = (class(a), class(b));
    a == b || a == Class::Bits || b == Class::Bits
}

/// The suggested type.
pub(super) fn help(wanted: &ImageParameter) -> String {
    let types = match wanted.text {
        Some(text) if text.array => {
            format!("an array, or a `#[repr(C)]` struct, of {} aligned to {}", bytes(wanted.size), text.align)
        }
        Some(text) => match (class(text.ty), wanted.size) {
            (Class::Float, 4) => "`f32`".into(),
            (Class::Float, 8) => "`f64`".into(),
            (Class::Float, _) => format!("a floating-point type of {}", bytes(wanted.size)),
            (class, size @ (1 | 2 | 4 | 8 | 16)) => {
                let bits = size * 8;
                let float = match (class, size) {
                    (Class::Bits, 4) => ", or `f32`",
                    (Class::Bits, 8) => ", or `f64`",
                    _ => "",
                };
                let pointer = if size == 8 { ", `*const T` or `*mut T`" } else { "" };
                format!("`u{bits}` or `i{bits}`{pointer}{float}")
            }
            _ => return String::new(),
        },
        None => format!("a type of {}", bytes(wanted.size)),
    };
    format!("\nhelp: declare {types}")
}

/// Both lists side by side.
pub(super) fn count_mismatch(
    name: &str,
    given: &[Parameter],
    wanted: &[ImageParameter],
    image: &Known,
    found: &ImageKernel,
) -> String {
    let given: Vec<String> = given.iter().flat_map(rows).collect();
    let here = if given.len() == 1 { "1 parameter".into() } else { format!("{} parameters", given.len()) };
    let line = found.line.map_or(String::new(), |line| format!(" (line {line})"));
    let shown = &image.shown;
    let mut message = format!(
        "kernel `{name}` has {} parameters in {shown}{line}; this declaration makes {here} (a slice is two)",
        wanted.len()
    );
    let width = given.iter().map(|g| g.chars().count()).max().unwrap_or(0).max("here".len());
    message.push_str(&format!("\n  # {:width$} | {shown}", "here"));
    for row in 0..given.len().max(wanted.len()) {
        let left = given.get(row).map_or("-", String::as_str);
        let right = wanted.get(row).map_or_else(
            || "-".into(),
            |w| match w.text {
                Some(text) => format!("{} ({}, line {})", ty(w), bytes(w.size), text.line),
                None => bytes(w.size),
            },
        );
        message.push_str(&format!("\n{row:3} {left:width$} | {right}"));
    }
    let (missing, more) = (given.len() < wanted.len(), given.len() > wanted.len());
    if missing || more {
        let what = if missing {
            "declare the parameters that are missing here"
        } else {
            "remove those that the kernel does not have"
        };
        message.push_str(&format!("\nhelp: {what}"));
    }
    message
}

fn rows(parameter: &Parameter) -> Vec<String> {
    let name = &parameter.ident;
    match &parameter.kind {
        Kind::Slice { element, .. } => {
            let element = show(element);
            vec![format!("{name}: address of [{element}]"), format!("{name}: length of [{element}]")]
        }
        Kind::Rows { element, .. } => {
            vec![format!("{name}: address of rows of {}", show(element)), format!("{name}: pitch of rows")]
        }
        kind if kind.count() == 0 => Vec::new(),
        _ => vec![format!("{name}: {}", show(&parameter.ty))],
    }
}
