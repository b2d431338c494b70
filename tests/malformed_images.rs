//! Damaged images by the hundred, sent towards whichever driver is chosen: what the crate's reader finds wrong never gets to the
//! driver, what the driver gets it refuses with a typed error or loads, and the process lives on.
//!
//! The list is that of `cli/tests/malformed.rs`, which shows it to the tool. Of PTX only the encoding is looked at before the driver
//! compiles it; cubins and fatbins are read whole, but for what is compressed with zstd where `cuda-ptx` is built without feature
//! `zstd`: such fatbins go to the emulator only. Where an image loads, each kernel that it lists is looked up, so that bodies
//! that are damaged are decoded too. None is launched: what such a kernel does is not for a test to find out.
//!
//! An image that ends the process is named, and the images behind it are sent by a new one: see what the test prints.

#![allow(unsafe_code)] // Launches vecadd.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kernel_files;
mod malformed;
#[path = "support/spies.rs"]
mod spies;

use cuda_harness::{Spy, child};
use cuda_launch::{CudaContext, CudaModule, DeviceBuffer, Error, ErrorKind, LaunchConfig, cuda_launch};
use cuda_ptx::image::{Image, ImageError, ImageErrorKind};
use malformed::Malformed;
use std::io::Write;
use std::ops::Range;

/// Processes that share the list.
const PARTS: usize = 8;

/// Of each part so many images may end the process before it is left alone.
const PATIENCE: usize = 10;

/// Tells a child which part of the list is its own: the first number and the one behind the last.
const FIRST: &str = "CUDA_LAUNCH_TEST_FIRST";
const END: &str = "CUDA_LAUNCH_TEST_END";

/// What became of some images.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    /// Refused by the crate's reader, before any driver call.
    by_reader: usize,
    /// Refused by the driver, and of these with the line of a text.
    by_driver: usize,
    with_line: usize,
    loaded: usize,
    /// Fatbins with content that this build of the reader cannot look into, kept from a system driver.
    not_sent: usize,
    /// Kernels of those that loaded: found, and refused.
    kernels: usize,
    kernels_refused: usize,
}

impl Counts {
    fn fields(&mut self) -> [&mut usize; 7] {
        let Self { by_reader, by_driver, with_line, loaded, not_sent, kernels, kernels_refused } = self;
        [by_reader, by_driver, with_line, loaded, not_sent, kernels, kernels_refused]
    }

    fn add(&mut self, counts: impl Iterator<Item = usize>) {
        self.fields().into_iter().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    /// Sends one image to the driver.
    fn send(&mut self, spy: &Spy, ctx: &CudaContext, image: &Malformed) {
        let name = &image.name;
        let readable = Image::read(&image.bytes);
        if readable.as_ref().is_ok_and(is_opaque) && !ctx.device_name().unwrap().contains("emulator") {
            self.not_sent += 1;
            return;
        }
        spy.clear();
        let loaded = ctx.load_module(&image.bytes);
        let asked =
            spy.calls().names().iter().any(|call| call.starts_with("cuModule") || call.starts_with("cuLink"));
        // Whatever the reader refuses, it refuses before the driver sees a byte.
        assert_eq!(asked, readable.is_ok(), "{name}: {:?}", spy.calls().names());
        match loaded {
            Ok(module) => {
                self.loaded += 1;
                self.look_up(&module, name);
            }
            Err(error) => match error.kind() {
                ErrorKind::Image { error: found, .. } => {
                    self.by_reader += 1;
                    assert_eq!(Some(found), readable.as_ref().err(), "{name}");
                    assert!(found.offset() <= image.bytes.len(), "{name}: {error}");
                }
                ErrorKind::Compiler(log) => {
                    self.by_driver += 1;
                    self.with_line += usize::from(log.line.is_some());
                    harmless(&error, name);
                }
                other => panic!("{name}: {other:?}"),
            },
        }
    }

    /// Has every kernel of a damaged image decoded.
    fn look_up(&mut self, module: &CudaModule, name: &str) {
        for kernel in module.kernel_names() {
            match module.load_function(kernel) {
                Ok(_) => self.kernels += 1,
                Err(error) => {
                    self.kernels_refused += 1;
                    harmless(&error, name);
                }
            }
        }
    }
}

/// Whether there is content that was not looked into: compressed with zstd, and `cuda-ptx` was built without feature `zstd`.
fn is_opaque(image: &Image<'_>) -> bool {
    let Image::Fatbin(fatbin) = image else { return false };
    let compressed = |error: &ImageError| error.kind() == ImageErrorKind::Compressed;
    fatbin.entries().iter().any(|entry| entry.content().as_ref().err().is_some_and(compressed))
}

/// The context goes on after it.
fn harmless(error: &Error, name: &str) {
    assert!(!error.is_sticky() && error.code().is_none_or(|code| !code.is_sticky()), "{name}: {error}");
}

/// The device still works.
fn adds(ctx: &CudaContext) {
    let module = ctx.load_module(include_str!("../examples/kernels/vecadd.ptx")).unwrap();
    let stream = ctx.new_stream().unwrap();
    let x = DeviceBuffer::from_host(&stream, &[1.5f32; 1000]).unwrap();
    let mut sum = DeviceBuffer::<f32>::zeroed(&stream, 1000).unwrap();
    // SAFETY: 1, 2: the kernel takes three slices and bounds its index by each; 3, 4: the buffers live until `to_host_vec` below
    // has waited for the stream, and nothing else uses them; 5: it writes floats; 6: it ends, it has no loop.
    unsafe {
        cuda_launch! { kernel: vecadd, module: module, stream: stream, config: LaunchConfig::for_num_elems(1000),
        args: [slice(x), slice(x), slice_mut(sum)] }
    }
    .unwrap();
    assert_eq!(sum.to_host_vec(&stream).unwrap(), [3.0; 1000]);
}

/// In the child: sends a part of the list, and says before each image which it is, and after it what became of all so far.
fn send(list: &[Malformed]) {
    let bound = |name| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (spy, ctx) = spies::spied();
    let mut counts = Counts::default();
    for (number, image) in list.iter().enumerate().take(bound(END)).skip(bound(FIRST)) {
        println!("\nimage {number}");
        std::io::stdout().flush().unwrap();
        counts.send(&spy, &ctx, image);
        println!("counts {:?}", counts.fields());
    }
    adds(&ctx);
}

/// Has a part of the list sent by a child; by the next child what is left of it, should one not live.
fn sent(test: &str, part: Range<usize>) -> (Counts, Vec<(usize, String)>) {
    let (mut sum, mut deaths, mut first) = (Counts::default(), Vec::new(), part.start);
    while first < part.end && deaths.len() < PATIENCE {
        let ended =
            child::run_with(test, &[(FIRST, first.to_string()), (END, part.end.to_string())]).unwrap();
        let said = |what: &str| ended.stdout.lines().rev().find_map(|line| line.strip_prefix(what));
        if let Some(numbers) = said("counts ") {
            sum.add(numbers.trim_matches(['[', ']']).split(", ").map(|number| number.parse().unwrap()));
        }
        let last = said("image ").map_or(first, |number| number.parse().unwrap());
        if ended.code != Some(0) {
            deaths.push((last, format!("exit code {:?}\n{}", ended.code, ended.stderr.trim())));
        }
        first = last + 1;
    }
    (sum, deaths)
}

#[test]
fn damaged_images_never_harm_the_process() {
    let test = "damaged_images_never_harm_the_process";
    let root = kernel_files::root();
    let list = malformed::list(&kernel_files::all(&root), &root);
    if child::is_child(test) {
        return send(&list);
    }
    let size = list.len().div_ceil(PARTS);
    let parts = (0..PARTS).map(|part| part * size..list.len().min((part + 1) * size));
    let answers: Vec<_> = std::thread::scope(|scope| {
        let children: Vec<_> = parts.map(|part| scope.spawn(move || sent(test, part))).collect();
        children.into_iter().map(|child| child.join().unwrap()).collect()
    });
    let mut counts = Counts::default();
    let mut deaths = Vec::new();
    for (mut some, ended) in answers {
        counts.add(some.fields().into_iter().map(|count| *count));
        deaths.extend(ended.into_iter().map(|(number, how)| format!("{}: {how}", list[number].name)));
    }
    println!("of {} images: {counts:?}", list.len());
    assert!(deaths.is_empty(), "images that ended the process: {}\n{}", deaths.len(), deaths.join("\n"));
    assert_eq!(counts.by_reader + counts.by_driver + counts.loaded + counts.not_sent, list.len());
    assert!(counts.by_reader > 150 && counts.by_driver > 100, "{counts:?}");
    // Most of these are texts.
    assert!(2 * counts.with_line > counts.by_driver, "{counts:?}");
}
