//! `#[launch_bounds]` and `#[cluster_launch]` against what the image was compiled for.

use proc_macro2::Span;
use syn::Error;

use super::check::Known;
use super::image::Kernel as ImageKernel;
use super::parse::Kernel;

pub(super) fn check(kernel: &Kernel, image: &Known, found: &ImageKernel, problems: &mut Vec<Error>) {
    let mut refuse = |span: Span, what: String| {
        let line = found.line.map_or(String::new(), |line| format!("line {line} of "));
        let message = format!("kernel `{}` was compiled {what} ({line}{})", found.name, image.shown);
        problems.push(Error::new(span, message));
    };
    if let Some(bounds) = &kernel.options.bounds {
        let given = u64::from(bounds.max_threads);
        match found.max_threads.or(found.required_threads.map(volume)) {
            Some(max) if max < given => {
                refuse(bounds.span, format!("for at most {max} threads a block, not {given}"));
            }
            _ => {}
        }
        if let (Some(min), Some(compiled)) = (bounds.min_blocks, found.min_blocks)
            && min != compiled
        {
            refuse(bounds.span, format!("for at least {compiled} blocks a multiprocessor, not {min}"));
        }
    }
    if let (Some((given, span)), Some(compiled)) = (kernel.options.cluster, found.cluster)
        && given != compiled
    {
        refuse(span, format!("for clusters of {compiled:?} blocks, not {given:?}"));
    }
}

fn volume(dimensions: [u32; 3]) -> u64 {
    dimensions.iter().map(|&d| u64::from(d)).fold(1, u64::saturating_mul)
}
