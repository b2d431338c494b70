//! A device for tests of the engine: memory, one module, typed transfers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cuda_emulator::check::{Checker, Checks, Finding};
use cuda_emulator::engine::{Fault, Kernel, Launch, Printer, Program, Stats, run};
use cuda_emulator::memory::Memory;
use cuda_emulator::schedule::Scheduler;
use cuda_emulator::{Counts, KernelProfile, OneOrder, ScheduleDifference, Schedules};

/// A module loaded into a memory of its own.
pub(crate) struct Device {
    pub(crate) memory: Arc<Memory>,
    pub(crate) program: Program,
    pub(crate) workers: usize,
}

/// A number that device memory holds.
pub(crate) trait Plain: Copy {
    fn bytes(self) -> Vec<u8>;
    fn from(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($number:ty)*) => {$(
        impl Plain for $number {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from(bytes: &[u8]) -> Self {
                <$number>::from_le_bytes(bytes.try_into().unwrap())
            }
        }
    )*};
}
plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

impl Device {
    pub(crate) fn new(text: &str) -> Device {
        Device::with_memory(text, Memory::new(1 << 30))
    }

    /// A device that checks for all there is.
    pub(crate) fn checked(text: &str) -> Device {
        Device::checked_for(text, Checks::KERNELS)
    }

    /// A device that checks for that.
    pub(crate) fn checked_for(text: &str, checks: Checks) -> Device {
        Device::with_memory(text, Memory::checked(1 << 30, Some(Arc::new(Checker::new(checks)))))
    }

    /// A device that counts what its kernels do.
    pub(crate) fn profiled(text: &str) -> Device {
        Device::with_memory(text, Memory::new(1 << 30).with_profiler(Arc::default()))
    }

    /// What was counted on a profiled device since the last call: by line of the PTX, in the kernel launched first.
    pub(crate) fn counts(&self) -> BTreeMap<u32, Counts> {
        let mut lines = BTreeMap::<u32, Counts>::new();
        for instruction in &self.profiles().remove(0).instructions {
            *lines.entry(instruction.ptx_line).or_default() += instruction.counts;
        }
        lines
    }

    /// The same, as it is.
    pub(crate) fn profiles(&self) -> Vec<KernelProfile> {
        self.memory.profiler().map(|profiler| profiler.take()).unwrap_or_default()
    }

    /// Threads that executed an instruction, over all instructions that were counted.
    fn counted(&self) -> Option<u64> {
        let profiles = self.memory.profiler()?.peek();
        let instructions = profiles.iter().flat_map(|profile| &profile.instructions);
        Some(instructions.map(|instruction| instruction.counts.threads).sum())
    }

    /// A device whose launches run under several orders, and check for what is asked.
    pub(crate) fn scheduled(text: &str, schedules: Schedules, checks: Option<Checks>) -> Device {
        let checker = checks.map(|checks| Arc::new(Checker::new(checks)));
        let scheduler = Arc::new(Scheduler::new(schedules));
        Device::with_memory(text, Memory::checked(1 << 30, checker).with_scheduler(scheduler))
    }

    /// What differed on a scheduled device since the last call.
    pub(crate) fn differences(&self) -> Vec<ScheduleDifference> {
        self.memory.scheduler().map(|scheduler| scheduler.take()).unwrap_or_default()
    }

    /// Which kernels of a scheduled device ran in one order since the last call.
    pub(crate) fn one_order(&self) -> Vec<OneOrder> {
        self.memory.scheduler().map(|scheduler| scheduler.take_one_order()).unwrap_or_default()
    }

    fn with_memory(text: &str, memory: Memory) -> Device {
        let memory = Arc::new(memory);
        let program = Program::load(text, &memory).unwrap_or_else(|failure| panic!("{failure}"));
        Device { memory, program, workers: 2 }
    }

    /// What a checked device found since the last call.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.memory.checker().map(|checker| checker.take().list).unwrap_or_default()
    }

    /// A kernel in a file of the repository.
    pub(crate) fn file(path: &str) -> Device {
        Device::new(&Device::text(path))
    }

    /// A file of the repository.
    pub(crate) fn text(path: &str) -> String {
        let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn upload<T: Plain>(&self, values: &[T]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let address = self.memory.allocate(bytes.len() as u64).unwrap();
        self.memory.write(address, &bytes).unwrap();
        address
    }

    pub(crate) fn zeroed<T: Plain>(&self, count: usize) -> u64 {
        self.upload(&vec![<T as Plain>::from(&vec![0; size_of::<T>()]); count])
    }

    pub(crate) fn download<T: Plain>(&self, address: u64, count: usize) -> Vec<T> {
        let mut bytes = vec![0; count * size_of::<T>()];
        self.memory.read(address, &mut bytes).unwrap();
        bytes.chunks(size_of::<T>()).map(<T as Plain>::from).collect()
    }

    pub(crate) fn kernel(&self, name: &str) -> Arc<Kernel> {
        self.program.kernel(name).unwrap_or_else(|| panic!("no kernel {name}"))
    }

    /// Runs a kernel; grid and block as given, all else from `launch`.
    pub(crate) fn try_launch(&self, name: &str, launch: Launch) -> Result<Stats, Box<Fault>> {
        let before = self.counted();
        let stats = run(&self.kernel(name), &launch, &self.memory, self.workers)?;
        if let Some((before, after)) = before.zip(self.counted()) {
            // The engine decodes some instructions into several.
            assert!((stats.instructions / 3..=stats.instructions).contains(&(after - before)), "{name}");
        }
        Ok(stats)
    }

    pub(crate) fn launch(&self, name: &str, grid: [u32; 3], block: [u32; 3], args: &Args) -> Stats {
        self.try_launch(name, launch(self, name, grid, block, args)).unwrap_or_else(|fault| panic!("{fault}"))
    }

    pub(crate) fn fault(&self, name: &str, grid: [u32; 3], block: [u32; 3], args: &Args) -> Box<Fault> {
        self.try_launch(name, launch(self, name, grid, block, args)).expect_err("the kernel should fault")
    }
}

/// A launch with packed arguments.
pub(crate) fn launch(device: &Device, name: &str, grid: [u32; 3], block: [u32; 3], args: &Args) -> Launch {
    Launch { grid, block, parameters: args.pack(&device.kernel(name)), ..Launch::default() }
}

/// Arguments of a launch.
#[derive(Default)]
pub(crate) struct Args(Vec<Vec<u8>>);

impl Args {
    pub(crate) fn new() -> Args {
        Args::default()
    }

    pub(crate) fn add<T: Plain>(mut self, value: T) -> Args {
        self.0.push(value.bytes());
        self
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Args {
        self.0.push(bytes.to_vec());
        self
    }

    fn pack(&self, kernel: &Kernel) -> Box<[u8]> {
        assert_eq!(self.0.len(), kernel.parameters.len(), "arguments of {}", kernel.name);
        let mut packed = vec![0; kernel.parameter_bytes];
        for (bytes, parameter) in self.0.iter().zip(&kernel.parameters) {
            assert_eq!(bytes.len(), parameter.size, "argument {} of {}", parameter.name, kernel.name);
            packed[parameter.offset..parameter.offset + parameter.size].copy_from_slice(bytes);
        }
        packed.into()
    }
}

/// The first lines of every module.
pub(crate) const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A module with one kernel `k(u64 out)` of this body, which starts in line 10. Registers of the usual names are
/// declared, `%out` holds the parameter, `%t` the thread's number in its block and `%at` the address of the thread's
/// element of four bytes.
pub(crate) fn snippet(body: &str) -> String {
    snippet_with("", body)
}

/// As [`snippet`], with module-scope declarations before the kernel, on its first line.
pub(crate) fn snippet_with(declarations: &str, body: &str) -> String {
    let registers = ".reg .pred %p<32>; .reg .b16 %h<32>; .reg .b32 %r<64>; .reg .f32 %f<32>; .reg .b64 %rd<64>; \
                     .reg .f64 %fd<32>; .reg .b64 %out, %at; .reg .b32 %t;";
    let declarations = declarations.replace('\n', " ");
    format!(
        "{HEADER}{declarations} .visible .entry k(.param .u64 out) {{\n{registers}\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;\n\
         mul.wide.u32 %at, %t, 4;\n\
         add.u64 %at, %at, %out;\n\n{body}\nret;\n}}\n"
    )
}

/// Runs the kernel of a [`snippet`] and returns its output, which starts as zeros.
pub(crate) fn outputs<T: Plain>(text: &str, threads: u32, count: usize) -> Vec<T> {
    let device = Device::new(text);
    let out = device.zeroed::<T>(count);
    device.launch("k", [1, 1, 1], [threads, 1, 1], &Args::new().add(out));
    device.download(out, count)
}

/// The fault of the kernel of a [`snippet`], whose output has `bytes` bytes.
pub(crate) fn snippet_fault(text: &str, threads: u32, bytes: usize) -> Box<Fault> {
    let device = Device::new(text);
    let out = device.zeroed::<u8>(bytes);
    device.fault("k", [1, 1, 1], [threads, 1, 1], &Args::new().add(out))
}

/// What `printf` printed.
#[derive(Clone, Default)]
pub(crate) struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    pub(crate) fn printer(&self) -> Printer {
        let output = Arc::clone(&self.0);
        Printer::new(move |text| output.lock().unwrap().extend_from_slice(text))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}
