//! One kernel with one list of arguments, in every way to launch it: the words are the same, and so is what arrives.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Launches of kernels that the lists below fit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::launch::{byval, pitched, pitched_mut, ptr, ptr_mut, slice, slice_mut, value};
use cuda_launch::memory::PitchedBuffer;
use cuda_launch::operation::{DeviceOperation, OwnedKernelLaunch};
use cuda_launch::{
    AsyncKernelLaunch, CudaContext, CudaFunction, CudaModule, CudaStream, DeviceBuffer, Error, LaunchConfig,
    LaunchPlan, cuda_launch, cuda_launch_async, cuda_module,
};

const N: usize = 4;
const CONFIG: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));

/// Of another crate, so to speak: `Copy`, and nothing else.
#[repr(C)]
#[derive(Clone, Copy)]
struct Pair(u32, u32);

#[cuda_module("tests/kernels/handwritten/words.ptx")]
mod kernels {
    use cuda_launch::memory::PitchedBuffer;

    unsafe extern "C" {
        pub fn words<P: Copy>(
            floats: &[f32],
            scaled: &mut [f32],
            numbers: *const u32,
            counts: *mut u32,
            pair: P,
            n: u32,
            factor: f32,
        );

        #[launch_contract(grid = (image.height() as u32, 1, 1), requires = (
            image.height() == out.height(), width as usize <= image.width(), width as usize <= out.width()
        ))]
        pub safe fn rows(image: &PitchedBuffer<u32>, out: &mut PitchedBuffer<u32>, width: u32);
        #[entry(u32 = "rows", i32 = "rows")]
        pub fn rows_of<T>(image: &PitchedBuffer<T>, out: &mut PitchedBuffer<T>, width: u32);
    }
}

/// What a launch is of.
struct Rig {
    stream: CudaStream,
    module: CudaModule,
    f: CudaFunction,
    typed: kernels::Module,
    floats: DeviceBuffer<f32>,
    numbers: DeviceBuffer<u32>,
}

/// What it writes.
type Out = (DeviceBuffer<f32>, DeviceBuffer<u32>);

impl Rig {
    fn new() -> Result<Self, Error> {
        let ctx = CudaContext::new(0)?;
        let stream = ctx.new_stream()?;
        let typed = kernels::load(&ctx)?;
        let (module, f) = (typed.as_module().clone(), typed.as_module().load_function("words")?);
        let floats = DeviceBuffer::from_host(&stream, &[1.0, 2.0, 3.0, 4.0])?;
        let numbers = DeviceBuffer::from_host(&stream, &[100, 200, 300, 400])?;
        Ok(Self { stream, module, f, typed, floats, numbers })
    }

    fn out(&self) -> Result<Out, Error> {
        Ok((DeviceBuffer::zeroed(&self.stream, 5)?, DeviceBuffer::zeroed(&self.stream, N)?))
    }

    /// Launches with new outputs, and compares what they hold then.
    fn check(&self, way: &str, launch: impl FnOnce(&mut Out) -> Result<(), Error>) -> Result<(), Error> {
        let mut out = self.out()?;
        launch(&mut out)?;
        self.holds(way, &out, 2.0)
    }

    /// `factor` times the floats; each number plus 3 * 5 and both lengths.
    fn holds(&self, way: &str, (scaled, counts): &Out, factor: f32) -> Result<(), Error> {
        let floats = [1.0, 2.0, 3.0, 4.0, 0.0].map(|x| x * factor);
        assert_eq!(scaled.to_host_vec(&self.stream)?, floats, "{way}");
        assert_eq!(counts.to_host_vec(&self.stream)?, [124, 224, 324, 424], "{way}");
        Ok(())
    }
}

#[test]
fn macros_and_typed_modules() -> Result<(), Error> {
    let rig = Rig::new()?;
    let Rig { stream, module, f, typed, floats, numbers } = &rig;
    let (pair, n, factor) = (Pair(3, 5), N as u32, 2.0f32);
    rig.check("cuda_launch!", |(scaled, counts)| unsafe {
        cuda_launch! {
            kernel: words, module: module, stream: stream, config: CONFIG,
            args: [slice(floats), slice_mut(scaled), ptr(numbers), ptr_mut(counts), byval(pair), n, named("factor", factor)],
        }
    })?;
    rig.check("cuda_launch_async!", |(scaled, counts)| {
        let launch = unsafe {
            cuda_launch_async! {
                function: f, config: CONFIG,
                args: [slice(floats), slice_mut(scaled), ptr(numbers), ptr_mut(counts), byval(pair), n, named("factor", factor)],
            }
        };
        launch.sync_on(stream)
    })?;
    rig.check("a typed module", |(scaled, counts)| unsafe {
        typed.words(stream, CONFIG, floats, scaled, numbers, counts, pair, n, factor)
    })?;
    rig.check("a typed module, later", |(scaled, counts)| {
        unsafe { typed.words_async(CONFIG, floats, scaled, numbers, counts, pair, n, factor) }?
            .sync_on(stream)
    })
}

/// The same methods on both that gather arguments one by one.
macro_rules! by_words {
    ($list:expr, $rig:ident, $scaled:ident, $counts:ident, $pair:ident, $n:ident, $factor:ident) => {
        $list
            .slice(&$rig.floats)
            .slice_mut($scaled)
            .ptr(&$rig.numbers)
            .ptr_mut($counts)
            .byval(&$pair)
            .value(&$n)
            .named("factor", &$factor)
    };
}

/// The same words as functions.
macro_rules! by_functions {
    ($list:expr, $rig:ident, $scaled:ident, $counts:ident, $pair:ident, $n:ident, $factor:ident) => {
        $list
            .arg(slice(&$rig.floats))
            .arg(slice_mut($scaled))
            .arg(ptr(&$rig.numbers))
            .arg(ptr_mut($counts))
            .arg(byval(&$pair))
            .arg(value(&$n))
            .named("factor", value(&$factor))
    };
}

/// cudarc's: by reference, and memory by its address.
macro_rules! by_reference {
    ($list:expr, $rig:ident, $scaled:ident, $counts:ident, $pair:ident, $n:ident, $factor:ident) => {
        $list
            .slice(&$rig.floats)
            .slice_mut($scaled)
            .arg(&$rig.numbers)
            .arg($counts)
            .byval_borrowed(&$pair)
            .arg(&$n)
            .named("factor", &$factor)
    };
}

macro_rules! gathered {
    ($rig:ident, $($words:ident)*) => {$(
        let (pair, n, factor) = (Pair(3, 5), N as u32, 2.0f32);
        $rig.check(concat!("the builder, ", stringify!($words)), |(scaled, counts)| {
            let mut builder = $rig.stream.launch_builder(&$rig.f);
            $words!(builder, $rig, scaled, counts, pair, n, factor);
            unsafe { builder.launch(CONFIG) }.map(drop)
        })?;
        $rig.check(concat!("AsyncKernelLaunch, ", stringify!($words)), |(scaled, counts)| {
            let mut launch = AsyncKernelLaunch::new(&$rig.f);
            {
                // Values are copied: these are gone when it runs.
                let (pair, n, factor) = (pair, n, factor);
                $words!(launch, $rig, scaled, counts, pair, n, factor).set_launch_config(CONFIG);
            }
            unsafe { launch.into_operation() }.sync_on(&$rig.stream)
        })?;
    )*};
}

#[test]
fn builder_and_operations() -> Result<(), Error> {
    let rig = Rig::new()?;
    gathered!(rig, by_words by_functions by_reference);
    rig.check("AsyncKernelLaunch, push_arg", |(scaled, counts)| {
        let mut launch = AsyncKernelLaunch::new(&rig.f);
        launch.slice(&rig.floats).slice_mut(scaled);
        unsafe { launch.push_device_ptr(rig.numbers.cu_deviceptr()).push_device_ptr(counts.cu_deviceptr()) };
        launch.byval(&Pair(3, 5)).push_arg(N as u32).push_arg(2.0f32).set_launch_config(CONFIG);
        unsafe { launch.into_operation() }.sync_on(&rig.stream)
    })
}

/// Sets each argument by the word that it was recorded with, and by no other.
macro_rules! set_by_words {
    ($plan:ident, $out:ident, $floats:ident, $numbers:ident) => {{
        $plan.set_slice("floats", $floats)?;
        $plan.set_slice_mut("scaled", &mut $out.0)?;
        $plan.set_ptr("numbers", $numbers)?;
        $plan.set_ptr_mut("counts", &mut $out.1)?;
        $plan.set_byval("pair", Pair(5, 3))?;
        $plan.set("n", N as u32)?;
        $plan.set("factor", 3.0f32)?;
        let refused = [
            ("numbers", $plan.set_slice("numbers", $numbers), "is ptr(..) of u32", "slice(..) of u32"),
            ("numbers", $plan.set_ptr_mut("numbers", &mut $out.1), "is ptr(..) of u32", "ptr_mut(..) of u32"),
            ("floats", $plan.set_ptr("floats", $floats), "is slice(..) of f32", "ptr(..) of f32"),
            ("counts", $plan.set_ptr("counts", $numbers), "is ptr_mut(..) of u32", "ptr(..) of u32"),
            (
                "scaled",
                $plan.set_ptr_mut("scaled", &mut $out.0),
                "is slice_mut(..) of f32",
                "ptr_mut(..) of f32",
            ),
            ("pair", $plan.set_byval("pair", [0u32; 2]), "Pair, and cannot", "[u32; 2]"),
            ("n", $plan.set_ptr("n", $numbers), "is u32", "ptr(..) of u32"),
            ("counts", $plan.set("counts", 1u64), "is ptr_mut(..) of u32", "cannot be set to u64"),
        ];
        for (name, result, recorded, given) in refused {
            let error = result.unwrap_err();
            let text = error.to_string();
            assert!(
                error.is_plan_error() && text.contains(recorded) && text.contains(given),
                "{name}: {text}"
            );
        }
    }};
}

/// Recorded with one list of memory and values, replayed with another.
#[test]
fn plans() -> Result<(), Error> {
    let rig = Rig::new()?;
    let Rig { stream, f, floats, numbers, .. } = &rig;
    let (n, factor) = (1u32, 9.0f32);
    let elsewhere = (DeviceBuffer::<f32>::zeroed(stream, N)?, DeviceBuffer::<u32>::zeroed(stream, N)?);
    let (mut before, mut out) = (rig.out()?, rig.out()?);

    let mut plan = LaunchPlan::record(stream.context(), |stream| unsafe {
        cuda_launch! {
            function: f, stream: stream, config: CONFIG,
            args: [
                named("floats", slice(elsewhere.0)), named("scaled", slice_mut(before.0)), named("numbers", ptr(elsewhere.1)),
                named("counts", ptr_mut(before.1)), named("pair", byval(Pair(1, 1))), named("n", n), named("factor", factor),
            ],
        }
    })?;
    unsafe { set_by_words!(plan, out, floats, numbers) };
    plan.launch(stream)?;
    rig.holds("a plan", &out, 3.0)?;

    let mut prepared = stream
        .launch_builder(f)
        .named("floats", slice(&elsewhere.0))
        .named("scaled", slice_mut(&mut before.0))
        .named("numbers", ptr(&elsewhere.1))
        .named("counts", ptr_mut(&mut before.1))
        .named("pair", byval(&Pair(1, 1)))
        .named("n", value(&n))
        .named("factor", value(&factor))
        .prepare(CONFIG)?;
    let mut out = rig.out()?;
    set_by_words!(prepared, out, floats, numbers);
    unsafe { prepared.launch_on(stream) }?;
    rig.holds("a prepared launch", &out, 3.0)?;

    let owned =
        (DeviceBuffer::<f32>::zeroed(stream, N)?, DeviceBuffer::<u32>::zeroed(stream, N)?, rig.out()?);
    let function = f.clone();
    let operation = unsafe {
        OwnedKernelLaunch::new(owned, move |(floats, numbers, out)| {
            let mut launch = AsyncKernelLaunch::new(function);
            launch.named("floats", slice(floats)).named("scaled", slice_mut(&mut out.0));
            launch.named("numbers", ptr(numbers)).named("counts", &mut out.1);
            launch.named("pair", byval(&Pair(1, 1))).named("n", &1u32).named("factor", &9.0f32);
            launch.set_launch_config(CONFIG);
            Ok(launch)
        })
    };
    let mut graph = operation.graph_in(stream.context())?;
    let mut out = rig.out()?;
    unsafe { set_by_words!(graph, out, floats, numbers) };
    graph.launch_on(stream)?;
    rig.holds("a graph of an operation", &out, 3.0)?;
    // What was recorded was never written.
    assert_eq!(before.0.to_host_vec(stream)?, [0.0; 5]);
    Ok(())
}

/// Two rows of three elements.
struct Image {
    stream: CudaStream,
    module: kernels::Module,
    f: CudaFunction,
}

const ROWS: LaunchConfig = LaunchConfig::new((2, 1, 1), (32, 1, 1));

impl Image {
    fn open() -> Result<Self, Error> {
        let ctx = CudaContext::new(0)?;
        let module = kernels::load(&ctx)?;
        Ok(Self { stream: ctx.new_stream()?, f: module.functions().rows.clone(), module })
    }

    fn make(&self, elements: [u32; 6]) -> Result<PitchedBuffer<u32>, Error> {
        let mut image = PitchedBuffer::uninit(&self.stream, 3, 2)?;
        assert_ne!(image.pitch(), 12, "there is padding, or this shows nothing");
        image.copy_from_host(&self.stream, &elements)?;
        Ok(image)
    }

    fn check(
        &self,
        way: &str,
        launch: impl FnOnce(PitchedBuffer<u32>, &mut PitchedBuffer<u32>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (image, mut out) = (self.make([1, 2, 3, 4, 5, 6])?, self.make([0; 6])?);
        launch(image, &mut out)?;
        assert_eq!(out.to_host_vec(&self.stream)?, [10, 20, 30, 40, 50, 60], "{way}");
        Ok(())
    }
}

#[test]
fn rows_are_an_argument_in_every_way() -> Result<(), Error> {
    let rig = Image::open()?;
    let Image { stream, module, f } = &rig;
    rig.check("cuda_launch!", |image, out| unsafe {
        cuda_launch! { function: f, stream: stream, config: ROWS, args: [pitched(image), pitched_mut(out), 3u32] }
    })?;
    rig.check("cuda_launch_async!", |image, out| {
        let image = std::sync::Arc::new(image);
        unsafe {
            cuda_launch_async! { function: f, config: ROWS, args: [pitched(image), pitched_mut(out), 3u32] }
        }
        .sync_on(stream)
    })?;
    rig.check("a typed module", |image, out| module.rows(stream, ROWS, &image, out, 3))?;
    rig.check("a typed module, generic", |image, out| unsafe {
        module.rows_of(stream, ROWS, &image, out, 3)
    })?;
    rig.check("the builder", |image, out| {
        let mut builder = stream.launch_builder(f);
        unsafe { builder.pitched(&image).pitched_mut(out).value(&3u32).launch(ROWS) }.map(drop)
    })?;
    rig.check("AsyncKernelLaunch", |image, out| {
        let mut launch = AsyncKernelLaunch::new(f);
        launch.arg(pitched(&image)).arg(pitched_mut(out)).value(&3u32).set_launch_config(ROWS);
        unsafe { launch.into_operation() }.sync_on(stream)
    })?;
    rig.check("a plan", |image, out| {
        let (other, mut unused) = (rig.make([7; 6])?, rig.make([0; 6])?);
        let mut plan = LaunchPlan::record(stream.context(), |stream| unsafe {
            cuda_launch! { function: f, stream: stream, config: ROWS,
            args: [named("in", pitched(other)), named("out", pitched_mut(unused)), 3u32] }
        })?;
        unsafe { plan.set_pitched("in", &image) }?;
        unsafe { plan.set_pitched_mut("out", out) }?;
        let wrong = unsafe { plan.set_pitched("out", &image) }.unwrap_err().to_string();
        assert!(
            wrong.contains("is pitched_mut(..) of u32, and cannot be set to pitched(..) of u32"),
            "{wrong}"
        );
        drop((image, other));
        plan.launch(stream)?;
        assert_eq!(unused.to_host_vec(stream)?, [0; 6]);
        Ok(())
    })?;
    rig.check("a prepared launch", |image, out| {
        let (other, mut unused) = (rig.make([7; 6])?, rig.make([0; 6])?);
        let mut builder = stream.launch_builder(f);
        let mut launch = builder
            .named("in", pitched(&other))
            .named("out", pitched_mut(&mut unused))
            .value(&3u32)
            .prepare(ROWS)?;
        launch.set_pitched("in", &image)?;
        launch.set_pitched_mut("out", out)?;
        unsafe { launch.launch_on(stream) }?;
        assert_eq!(unused.to_host_vec(stream)?, [0; 6]);
        Ok(())
    })
}

/// Memory, as buffers are: kept by an operation and given back, refused where the contract says so, of one context.
#[test]
fn rows_are_owned_compared_and_of_a_context() -> Result<(), Error> {
    let rig = Image::open()?;
    let (image, out) = (std::sync::Arc::new(rig.make([1, 2, 3, 4, 5, 6])?), rig.make([0; 6])?);
    let operation = rig.module.rows_async_owned(ROWS, image.clone(), out, 3)?;
    let (_, mut out) = operation.sync_on(&rig.stream)?;
    assert_eq!(out.to_host_vec(&rig.stream)?, [10, 20, 30, 40, 50, 60]);

    let wide = rig.module.rows(&rig.stream, ROWS, &image, &mut out, 4).unwrap_err();
    assert!(wide.is_contract_violation() && wide.to_string().contains("image.width()"), "{wide}");
    let swapped = unsafe {
        cuda_launch! { function: rig.f, stream: rig.stream, config: ROWS, args: [3u32, pitched(image), pitched_mut(out)] }
    };
    let text = swapped.unwrap_err().to_string();
    assert!(text.contains("address of rows of u32") && text.contains("pitch of rows"), "{text}");
    Ok(())
}

/// A writer on another stream waits for the reader, and the other way round.
#[test]
fn rows_are_ordered_between_streams() -> Result<(), Error> {
    let rig = Image::open()?;
    let (first, second) = (&rig.stream, rig.stream.context().new_stream()?);
    let (mut a, mut b) = (rig.make([1, 2, 3, 4, 5, 6])?, rig.make([0; 6])?);
    for _ in 0..3 {
        rig.module.rows(first, ROWS, &a, &mut b, 3)?;
        rig.module.rows(&second, ROWS, &b, &mut a, 3)?;
    }
    assert_eq!(a.to_host_vec(&second)?, [1, 2, 3, 4, 5, 6].map(|x| x * 1_000_000));
    assert_eq!(b.to_host_vec(first)?, [1, 2, 3, 4, 5, 6].map(|x| x * 100_000));
    Ok(())
}
