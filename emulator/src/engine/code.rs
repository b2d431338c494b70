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
    /// Go on with the next instruction.
    Next,
    /// All live lanes go on at `Lanes::target`.
    Jump,
    /// The lanes in `Lanes::taken` go on at `Lanes::target`, the others with the next instruction.
    Diverge,
    /// The scheduler has to act: [`Inst::imm`] is an index into [`Code::controls`].
    Control,
    /// The instruction has run, and others have to get their turn before the next one does.
    Preempt,
    /// As [`Step::Diverge`], and others have to get their turn.
    Part,
    /// The kernel stops; `Lanes::trouble` says why.
    Fault,
}

/// Executes one instruction for the live lanes.
///
/// # Safety
/// 1. The CPU has the features that the function was compiled for: [`ExecPair::pick`] sees to that.
/// 2. The instruction was made by the decoder for this function, and for the code whose frame and constants `Lanes` points to, the
///    *entered* code: its operands are of the classes and in the order that the function asks for, destinations in the frame.
///
/// What takes `Lanes` and an `Inst` and says nothing else has these duties too: bodies, and also closures and private functions
/// that only instructions call, which need not say `unsafe`.
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

/// Where an operand lives: a row of the frame, as a byte offset from its first register; constants lie before that, so that their
/// offsets are negative. For a predicate its index in the frame.
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
    /// What runs.
    pub(crate) exec: Exec,
    /// For an instruction with a guard: what `exec` runs for the lanes that pass it.
    pub(crate) inner: Exec,
    /// Destinations, then sources.
    pub(crate) ops: [Slot; INLINE_OPERANDS],
    /// Immediate: an offset, a target, an index; the instruction knows.
    pub(crate) imm: u64,
    /// Predicate index of the guard, its top bit set for `@!p`.
    pub(crate) guard: u32,
    /// Small parameters of the instruction.
    pub(crate) aux: u32,
    /// Number of this memory access among those of the kernel: where the region that it hit last is remembered.
    pub(crate) site: u32,
    /// Number of the shape of addresses that this load remembers for others, or that another did for this one.
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
    /// `.loc` line; 0 for instructions that the compiler ascribes to no line.
    pub(crate) source_line: u32,
    /// `.loc` column.
    pub(crate) source_column: u32,
    /// Number of the PTX instruction in its function: some are decoded into several.
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

/// A decoded function.
pub(crate) struct Code {
    /// Whether the last parameter takes an argument of fewer rows, or none.
    pub(crate) open: bool,
    /// Its name.
    pub(crate) name: String,
    /// Instructions; branch targets are indices.
    pub(crate) insts: Box<[Inst]>,
    /// Per instruction: one past the last instruction of its basic block.
    pub(crate) block_end: Box<[u32]>,
    /// Per instruction: where it comes from.
    pub(crate) origins: Box<[Origin]>,
    /// What the scheduler does for the instructions that return [`Step::Control`].
    pub(crate) controls: Box<[Control]>,
    /// Which of the kernel's functions it is.
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
    /// Those that have to be zero when a frame starts: what lies in the others is written before it is read.
    pub(crate) zeroed: Box<[Range<u32>]>,
    /// Predicates of a frame.
    pub(crate) predicates: u32,
    /// Formal parameters, in order (none for kernels: theirs are in the parameter window).
    pub(crate) params: Box<[ParamRows]>,
    /// Results, in order.
    pub(crate) returns: Box<[ParamRows]>,
    /// Bytes of local memory of a frame.
    pub(crate) local_bytes: u32,
    /// Whether it asks for the scratch memory that hardware reserves.
    pub(crate) reserved: bool,
}

impl Code {
    /// The instructions that could not be decoded: line and reason.
    pub(crate) fn refused(&self) -> impl Iterator<Item = (u32, &str)> {
        self.refusals.iter().map(|(line, reason)| (*line, reason.as_str()))
    }
}

/// The operands of a matrix instruction, which are more than an instruction has room for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matrix<O> {
    /// What is written.
    pub(crate) d: Vec<O>,
    /// The left factor, or all that is read.
    pub(crate) a: Vec<O>,
    /// The right factor.
    pub(crate) b: Vec<O>,
    /// What is added.
    pub(crate) c: Vec<O>,
}

impl<O: Copy> Matrix<O> {
    /// All that is read.
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
    /// The stack of the thread grows to what operand 0 says.
    Grow,
    /// `ret`
    Return,
    /// `exit`
    Exit,
    /// `bar`, `barrier`
    Barrier(Barrier),
    /// `barrier.cluster.arrive`: waiting is [`Control::ClusterWait`].
    ClusterArrive {
        /// Whether what its threads stored before is seen by those that wait.
        released: bool,
        /// Whether a warp has to come to it together.
        aligned: bool,
    },
    /// `barrier.cluster.wait`
    ClusterWait {
        /// Whether a warp has to come to it together.
        aligned: bool,
    },
    /// A `.sync` instruction of which not all members are there yet.
    WarpSync(WarpOp),
    /// `nanosleep`: others go first.
    Yield,
    /// `brx.idx`: the targets; the index is operand 0.
    Table(Arc<[u32]>),
}

impl Control {
    /// Whether it is a barrier to which the threads of a warp have to come together.
    pub(crate) fn is_aligned(&self) -> bool {
        match self {
            Control::Barrier(Barrier { aligned, .. })
            | Control::ClusterArrive { aligned, .. }
            | Control::ClusterWait { aligned } => *aligned,
            _ => false,
        }
    }
}

/// What is called.
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
    /// `void *malloc(size_t)`
    Malloc,
    /// `void free(void *)`
    Free,
    /// What launches of kernels by kernels are made of.
    Runtime(DeviceRuntime),
}

/// What `driver/module/device_launches.ptx` makes the functions of CUDA's device runtime of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceRuntime {
    /// `void *(void *kernel, dim3 grid, dim3 block, unsigned shared)`: a buffer for the parameters of that launch.
    Configure,
    /// `void *(size_t bytes)`: a buffer for the parameters of any launch.
    Buffer,
    /// `unsigned (void *buffer, void *stream)`: launches what the buffer was made for.
    Launch,
    /// `unsigned (void *kernel, void *buffer, dim3 grid, dim3 block, unsigned shared, void *stream)`
    LaunchAs,
    /// `unsigned (unsigned forget)`: the thread's last error.
    LastError,
    /// `unsigned (unsigned code)`: makes that the thread's last error, if it is one.
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
    /// What is called.
    pub(crate) callee: Callee,
    /// Where the arguments are.
    pub(crate) args: Box<[ParamRows]>,
    /// Where the results go.
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
/// 2 the thread count where `counted`, 3 the predicate that is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Barrier {
    /// What it does.
    pub(crate) action: BarrierAction,
    /// Whether there is a thread count.
    pub(crate) counted: bool,
    /// Whether the reduced predicate is negated.
    pub(crate) negated: bool,
    /// Whether all of a warp must come to it together.
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
