//! Decoded instructions: what the interpreter runs.

use std::ops::Range;
use std::sync::Arc;

use super::exec::lanes::Lanes;
use super::warp_op::WarpOp;
use crate::vectors;

/// What an executed instruction tells the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    /// Continue with the next instruction.
    Next,
    /// All live lanes continue at `Lanes::target`.
    Jump,
    /// The lanes in `Lanes::taken` continue at `Lanes::target`, the others with the next instruction.
    Diverge,
    /// The scheduler has to act: [`Inst::imm`] is an index into [`Code::controls`].
    Control,
    /// The instruction has run, and other warps must get their turn before the next one runs.
    Preempt,
    /// As [`Step::Diverge`], and other warps must get their turn.
    Part,
    /// The kernel stops; `Lanes::trouble` says why.
    Fault,
}

/// Executes one instruction for the live lanes.
///
/// # Safety
/// 1. The CPU has the features that the function was compiled for, which [`ExecPair::pick`] ensures.
/// 2. The decoder has made the instruction for this function, and for the code whose frame and constants `Lanes` points to, the
///    *entered* code: its operands have the classes and the order that the function requires, and destinations are in the frame.
///
/// Every function with parameters `Lanes` and `Inst` that does not document otherwise has these duties too: bodies, and also
/// closures and private functions that only instructions call, which need not be marked `unsafe`.
pub(crate) type Exec = unsafe fn(&mut Lanes<'_>, &Inst) -> Step;

/// An instruction without effect here.
pub(crate) const NOTHING: Exec = |_, _| Step::Next;

/// The two compilations of one instruction: with the CPU's vector extensions, and without.
#[derive(Clone, Copy)]
pub(crate) struct ExecPair {
    /// For CPUs on which [`vectors::available`] holds.
    pub(crate) fast: Exec,
    /// For all others.
    pub(crate) plain: Exec,
}

impl ExecPair {
    /// The compilation to use on this machine.
    pub(crate) fn pick(self) -> Exec {
        if vectors::available() { self.fast } else { self.plain }
    }
}

/// The location of an operand: a row of the frame, as a byte offset from the first register; constants lie before that, so their
/// offsets are negative. For a predicate, its index in the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    /// Set in slots of constants: the sign.
    pub(crate) const CONSTANT: u32 = 1 << 31;
}

/// Operands kept inside an instruction.
pub(crate) const INLINE_OPERANDS: usize = 6;

/// One instruction: a cache line.
#[repr(C, align(64))]
#[derive(Clone)]
pub(crate) struct Inst {
    /// The function that executes it.
    pub(crate) exec: Exec,
    /// For an instruction with a guard: what `exec` runs for the lanes that pass it.
    pub(crate) inner: Exec,
    /// Destinations, then sources.
    pub(crate) ops: [Slot; INLINE_OPERANDS],
    /// Immediate: an offset, a target or an index, depending on the instruction, or two more operands.
    pub(crate) imm: u64,
    /// Predicate index of the guard, its top bit set for `@!p`.
    pub(crate) guard: u32,
    /// Small parameters of the instruction.
    pub(crate) aux: u32,
    /// Number of this memory access among those of the kernel: the index at which the region of its last access is
    /// cached.
    pub(crate) site: u32,
    /// Number of the address shape that this load records for others, or that another load has recorded for this one.
    pub(crate) shape: u32,
}

impl Inst {
    /// An instruction that does nothing.
    pub(crate) const NOTHING: Inst = Inst {
        exec: NOTHING,
        inner: NOTHING,
        ops: [Slot(0); INLINE_OPERANDS],
        imm: 0,
        guard: 1,
        aux: 0,
        site: u32::MAX,
        shape: u32::MAX,
    };
}

/// A row of 32 lanes.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row(pub(crate) [u32; 32]);

impl Row {
    /// All lanes zero.
    pub(crate) const ZERO: Row = Row([0; 32]);
    /// Size in bytes.
    pub(crate) const BYTES: u32 = size_of::<Row>() as u32;
}

/// Where an instruction comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Line in the PTX text.
    pub(crate) line: u32,
    /// `.loc` file index; 0 for none.
    pub(crate) file: u32,
    /// `.loc` line; 0 for instructions that the compiler attributes to no line.
    pub(crate) source_line: u32,
    /// `.loc` column.
    pub(crate) source_column: u32,
    /// Number of the PTX instruction in its function: some are decoded into several instructions.
    pub(crate) statement: u32,
}

/// Rows of a frame that hold one parameter or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParamRows {
    /// First row.
    pub(crate) row: u32,
    /// How many.
    pub(crate) rows: u32,
}

/// The instructions that run from one of them on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    /// The first, which may be a later one: others do the work of those between.
    pub(crate) first: u32,
    /// One past the last of the basic block.
    pub(crate) end: u32,
}

/// A decoded function.
pub(crate) struct Code {
    /// Whether the last parameter accepts an argument of fewer rows, or none.
    pub(crate) open: bool,
    /// Its name.
    pub(crate) name: String,
    /// Instructions; branch targets are indices.
    pub(crate) insts: Box<[Inst]>,
    /// Per instruction: what runs from there on.
    pub(crate) runs: Box<[Run]>,
    /// Per instruction: where it comes from.
    pub(crate) origins: Box<[Origin]>,
    /// The actions of the scheduler for the instructions that return [`Step::Control`].
    pub(crate) controls: Box<[Control]>,
    /// Its index among the kernel's functions.
    pub(crate) number: usize,
    /// The operands of the matrix instructions; [`Inst::imm`] is an index here.
    pub(crate) matrices: Box<[Matrix<Slot>]>,
    /// The instructions that could not be decoded and stop the kernel: line and reason.
    pub(crate) refusals: Box<[(u32, String)]>,
    /// Broadcast constants.
    pub(crate) constants: Box<[Row]>,
    /// Rows of a frame.
    pub(crate) rows: u32,
    /// Those of registers of 64 bits, in pairs; before them are words, and behind them the coordinates of textures, of 128 bits.
    pub(crate) wide_rows: Range<u32>,
    /// The rows that must be zero when a frame starts: all others are written before they are read.
    pub(crate) zeroed: Box<[Range<u32>]>,
    /// Predicates of a frame.
    pub(crate) predicates: u32,
    /// Formal parameters, in order (none for kernels: theirs are in the parameter window).
    pub(crate) params: Box<[ParamRows]>,
    /// Results, in order.
    pub(crate) returns: Box<[ParamRows]>,
    /// Bytes of local memory of a frame.
    pub(crate) local_bytes: u32,
    /// Whether it uses the scratch memory that hardware reserves.
    pub(crate) reserved: bool,
}

impl Code {
    /// The instructions that could not be decoded: line and reason.
    pub(crate) fn refused(&self) -> impl Iterator<Item = (u32, &str)> {
        self.refusals.iter().map(|(line, reason)| (*line, reason.as_str()))
    }
}

/// The operands of a matrix instruction, for which an instruction has no room.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matrix<O> {
    /// The destination.
    pub(crate) d: Vec<O>,
    /// The left factor, or all operands that are read.
    pub(crate) a: Vec<O>,
    /// The right factor.
    pub(crate) b: Vec<O>,
    /// The addend.
    pub(crate) c: Vec<O>,
}

impl<O: Copy> Matrix<O> {
    /// All operands that are read.
    pub(crate) fn sources(&self) -> impl Iterator<Item = O> + '_ {
        self.a.iter().chain(&self.b).chain(&self.c).copied()
    }

    /// The same with other operands.
    pub(crate) fn map<P>(&self, to: impl Fn(O) -> P) -> Matrix<P> {
        let list = |list: &[O]| list.iter().map(|operand| to(*operand)).collect();
        Matrix { d: list(&self.d), a: list(&self.a), b: list(&self.b), c: list(&self.c) }
    }
}

/// An instruction that the scheduler carries out.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    /// `call`
    Call(Call),
    /// Grows the stack of the thread to the size in operand 0.
    Grow,
    /// `ret`
    Return,
    /// `exit`
    Exit,
    /// `bar`, `barrier`
    Barrier(Barrier),
    /// `barrier.cluster.arrive`: waiting is [`Control::ClusterWait`].
    ClusterArrive {
        /// Whether earlier stores of its threads are visible to the threads that wait.
        released: bool,
        /// Whether all threads of a warp must execute it together.
        aligned: bool,
    },
    /// `barrier.cluster.wait`
    ClusterWait {
        /// Whether all threads of a warp must execute it together.
        aligned: bool,
    },
    /// A `.sync` instruction that not all members have reached yet.
    WarpSync(WarpOp),
    /// `nanosleep`: other warps run first.
    Yield,
    /// `brx.idx`: the targets; the index is operand 0.
    Table(Arc<[u32]>),
}

impl Control {
    /// Whether it is a barrier that all threads of a warp must execute together.
    pub(crate) fn is_aligned(&self) -> bool {
        match self {
            Control::Barrier(Barrier { aligned, .. })
            | Control::ClusterArrive { aligned, .. }
            | Control::ClusterWait { aligned } => *aligned,
            _ => false,
        }
    }
}

/// The callee.
#[derive(Clone, Debug)]
pub(crate) enum Callee {
    /// A function of the program, by its index.
    Function(usize),
    /// A function that the engine provides.
    Extern(Extern),
    /// The address in operand 0.
    Indirect,
}

/// Functions that CUDA's device runtime provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extern {
    /// `int vprintf(const char*, void*)`
    Vprintf,
    /// `void __assertfail(const void*, const void*, unsigned, const void*, size_t)`
    AssertFail,
    /// `void cudaGraphSetConditional(unsigned long long, unsigned)`
    SetConditional,
    /// `unsigned (void *graph, void *stream)`: what `driver/module/device_graphs.ptx` makes `cudaGraphLaunch` of.
    GraphLaunch,
    /// `unsigned (void *node, unsigned field, unsigned long long a, unsigned long long b, unsigned long long c)`: what
    /// `driver/module/device_nodes.ptx` makes `cudaGraphKernelNodeUpdatesApply` and its kin of.
    NodeUpdate,
    /// `void *malloc(size_t)`
    Malloc,
    /// `void free(void *)`
    Free,
    /// A primitive of the device runtime, for launches by kernels.
    Runtime(DeviceRuntime),
}

/// The primitives with which `driver/module/device_launches.ptx` implements CUDA's device runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceRuntime {
    /// `void *(void *kernel, dim3 grid, dim3 block, unsigned shared)`: a buffer for the parameters of that launch.
    Configure,
    /// `void *(size_t bytes)`: a buffer for the parameters of any launch.
    Buffer,
    /// `unsigned (void *buffer, void *stream)`: launches the kernel for which the buffer was created.
    Launch,
    /// `unsigned (void *kernel, void *buffer, dim3 grid, dim3 block, unsigned shared, void *stream)`
    LaunchAs,
    /// `unsigned (unsigned forget)`: the thread's last error.
    LastError,
    /// `unsigned (unsigned code)`: makes the code the thread's last error, if it is an error.
    Fail,
    /// `void *(unsigned kind)`: a new stream or event; null if there is no room for it.
    Create,
    /// `unsigned (void *handle, unsigned kind, unsigned destroy)`: 0 if it is a stream or event.
    Use,
    /// `unsigned (void *event, void *stream, unsigned waits)`: the event is recorded in the stream, or the stream waits for it.
    Order,
    /// `long long (unsigned question, unsigned long long a, unsigned long long b, unsigned long long c)`: an answer; if there is none, a code with
    /// the highest bit set.
    Ask,
}

/// A call: rows of the caller's frame for arguments and results.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The callee.
    pub(crate) callee: Callee,
    /// The rows of the arguments.
    pub(crate) args: Box<[ParamRows]>,
    /// The rows for the results.
    pub(crate) returns: Box<[ParamRows]>,
}

/// What a barrier does besides waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierAction {
    /// `bar.sync`
    Sync,
    /// `bar.arrive`
    Arrive,
    /// `bar.red.popc`
    Popc,
    /// `bar.red.and`
    And,
    /// `bar.red.or`
    Or,
}

/// A block barrier. Operands: 0 the destination of a reduction (a row or a predicate), 1 the barrier's number,
/// 2 the thread count if `counted`, 3 the predicate that is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Barrier {
    /// What it does.
    pub(crate) action: BarrierAction,
    /// Whether there is a thread count.
    pub(crate) counted: bool,
    /// Whether the reduced predicate is negated.
    pub(crate) negated: bool,
    /// Whether all threads of a warp must execute it together.
    pub(crate) aligned: bool,
}

impl Code {
    /// Whether it calls one of these functions.
    pub(crate) fn calls(&self, functions: &[Extern]) -> bool {
        self.controls.iter().any(|control| match control {
            Control::Call(Call { callee: Callee::Extern(function), .. }) => functions.contains(function),
            _ => false,
        })
    }
}

impl DeviceRuntime {
    pub(crate) const ALL: [DeviceRuntime; 10] = {
        use DeviceRuntime::{Ask, Buffer, Configure, Create, Fail, LastError, Launch, LaunchAs, Order, Use};
        [Configure, Buffer, Launch, LaunchAs, LastError, Fail, Create, Use, Order, Ask]
    };

    fn from_name(name: &str) -> Option<DeviceRuntime> {
        Some(match name {
            "__cudaEmulatorConfigure" => DeviceRuntime::Configure,
            "__cudaEmulatorBuffer" => DeviceRuntime::Buffer,
            "__cudaEmulatorLaunch" => DeviceRuntime::Launch,
            "__cudaEmulatorLaunchAs" => DeviceRuntime::LaunchAs,
            "__cudaEmulatorLastError" => DeviceRuntime::LastError,
            "__cudaEmulatorFail" => DeviceRuntime::Fail,
            "__cudaEmulatorCreate" => DeviceRuntime::Create,
            "__cudaEmulatorUse" => DeviceRuntime::Use,
            "__cudaEmulatorOrder" => DeviceRuntime::Order,
            "__cudaEmulatorAsk" => DeviceRuntime::Ask,
            _ => return None,
        })
    }
}

impl Extern {
    /// The function of that name.
    pub(crate) fn from_name(name: &str) -> Option<Extern> {
        match name {
            "vprintf" => Some(Extern::Vprintf),
            "__assertfail" => Some(Extern::AssertFail),
            "cudaGraphSetConditional" => Some(Extern::SetConditional),
            "__cudaEmulatorGraphLaunch" => Some(Extern::GraphLaunch),
            "__cudaEmulatorNodeUpdate" => Some(Extern::NodeUpdate),
            "malloc" => Some(Extern::Malloc),
            "free" => Some(Extern::Free),
            _ => DeviceRuntime::from_name(name).map(Extern::Runtime),
        }
    }
}

/// Whether a function of that name needs no definition.
pub(crate) fn is_provided(name: &str) -> bool {
    Extern::from_name(name).is_some()
}
