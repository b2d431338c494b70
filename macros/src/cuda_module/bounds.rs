//! Checks `#[launch_bounds]` and `#[cluster_launch]` against the bounds in the image.

use proc_macro2::Span;
use syn::Error;

use super::check::Known;
use super::image::Kernel as ImageKernel;
use super::parse::Kernel;

pub(super) fn check(kernel: &Kernel, image: &Known, found: &ImageKernel, problems: &mut Vec<Error>) {
    let mut refuse = |span: Span, what: String, help: String| {
        let line = found.line.map_or(String::new(), |line| format!("line {line} of "));
        let message =
            format!("kernel `{}` was compiled {what} ({line}{})\nhelp: {help}", found.name, image.shown);
        problems.push(Error::new(span, message));
    };
    if let Some(bounds) = &kernel.options.bounds {
        let (given, [of_max, of_min]) = (u64::from(bounds.max_threads), bounds.spans);
        match (found.required_threads, found.max_threads) {
            (Some(required), _) if volume(required) != given => {
                let what = format!("for blocks of {required:?} threads, not of {given}");
                refuse(of_max, what, format!("write {}, the only size that it runs with", volume(required)));
            }
            (None, Some(max)) if max < given => {
                let what = format!("for at most {max} threads per block, not {given}");
                refuse(of_max, what, format!("write {max} or less, or compile it for {given}"));
            }
            _ => {}
        }
        if let (Some(min), Some(compiled)) = (bounds.min_blocks, found.min_blocks)
            && min != compiled
        {
            let what = format!("for at least {compiled} blocks per multiprocessor, not {min}");
            refuse(of_min, what, format!("write {compiled} or leave it out, or compile it for {min}"));
        }
    }
    if let (Some((given, span)), Some(compiled)) = (kernel.options.cluster, found.cluster)
        && given != compiled
    {
        let [x, y, z] = compiled;
        let what = format!("for clusters of {compiled:?} blocks, not {given:?}");
        refuse(span, what, format!("write `#[cluster_launch({x}, {y}, {z})]`"));
    }
}

fn volume(dimensions: [u32; 3]) -> u64 {
    dimensions.iter().map(|&d| u64::from(d)).fold(1, u64::saturating_mul)
}
