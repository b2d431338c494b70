//! The memory that two threads of a kernel certainly load and store: the first and the last of a launch.
//!
//! A thread's path through a kernel is followed as long as it depends only on the arguments and the size of the launch. A value from
//! memory or from an unsupported instruction is unknown; a jump that depends on an unknown value ends the walk. So each access that is
//! found happens in the launch, whatever memory contains; other accesses may happen, too.

mod decode;
mod run;

use cuda_ptx::{Function, FunctionKind};
use decode::{Op, Special};

/// The maximum number of instructions of a thread that are followed, loops included.
const STEPS: usize = 256;

/// The part of a kernel that can be followed.
#[derive(Debug)]
pub(super) struct Program {
    ops: Vec<Op>,
    registers: usize,
    /// Offset and size of each parameter.
    pub(super) parameters: Vec<(usize, usize)>,
}

/// An access to global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) how: How,
    /// The offset of the parameter from which the address was computed.
    pub(super) parameter: Option<usize>,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Read,
    Write,
    /// In a way that allows concurrent accesses of others: atomic, volatile, ordered.
    Shared,
}

/// The thread that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thread {
    First,
    Last,
}

impl Program {
    /// The program of a kernel in PTX; `None` if the text does not have it, or it is too unusual.
    pub(super) fn of(text: &str, kernel: &str) -> Option<Program> {
        let module = cuda_ptx::parse(text).ok()?;
        let is_it = |f: &&Function<'_>| {
            f.kind == FunctionKind::Entry
                && f.name == kernel
                && f.body.is_some()
                && !f.directives.blocksareclusters
        };
        decode::program(module.functions.iter().find(is_it)?)
    }
}

/// The size of a launch, as a thread sees it.
pub(super) struct Size {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) thread: Thread,
}

impl Size {
    fn special(&self, special: Special) -> u64 {
        let (of, axis) = match special {
            Special::Blocks(axis) => (self.grid, axis),
            Special::Threads(axis) => (self.block, axis),
            Special::Block(axis) => (self.grid, axis),
            Special::Thread(axis) => (self.block, axis),
        };
        let size = of.get(axis).copied().unwrap_or(1);
        match (special, self.thread) {
            (Special::Blocks(_) | Special::Threads(_), _) => size.into(),
            (_, Thread::First) => 0,
            (_, Thread::Last) => size.saturating_sub(1).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touches(text: &str, kernel: &str, block: &[u8], thread: Thread) -> Vec<Touch> {
        let size = Size { grid: [4, 1, 1], block: [64, 1, 1], thread };
        let mut touches = Vec::new();
        if let Some(program) = Program::of(text, kernel) {
            program.run(block, &size, &mut touches);
        }
        touches
    }

    fn packet(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn the_first_and_the_last_thread_are_followed() {
        let fill = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry fill(.param .u64 out, .param .u32 count, .param .u32 value)
{
    .reg .pred %p<2>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r3, [count];
    ld.param.u32 %r2, [value];
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r5, %ntid.x;
    mov.u32 %r6, %tid.x;
    mad.lo.s32 %r1, %r4, %r5, %r6;
    setp.ge.u32 %p1, %r1, %r3;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r2;
DONE:
    ret;
}
";
        let write = |address| Touch { address, bytes: 4, how: How::Write, parameter: Some(0) };
        // 200 elements for 256 threads: the last thread has none.
        let block = packet(&[0x1000, 200]);
        assert_eq!(touches(fill, "fill", &block, Thread::First), [write(0x1000)]);
        assert_eq!(touches(fill, "fill", &block, Thread::Last), []);
        assert_eq!(touches(fill, "fill", &packet(&[0x1000, 256]), Thread::Last), [write(0x1000 + 255 * 4)]);
        assert_eq!(touches(fill, "other", &block, Thread::First), []);
    }

    #[test]
    fn what_is_loaded_is_not_known() {
        let text = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 list, .param .u64 flag)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<8>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [list];
    ld.param.u64 %rd2, [flag];
    cvta.to.global.u64 %rd1, %rd1;
    ld.global.v2.u64 {%rd3, %rd4}, [%rd1+16];
    st.global.u32 [%rd3], 1;
    ld.volatile.global.u32 %r1, [%rd2];
    atom.global.add.u32 %r2, [%rd2+4], 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.global.u32 [%rd1], 5;
    @%p1 bra DONE;
    st.global.u32 [%rd1], 6;
DONE:
    ret;
}
";
        let found = touches(text, "k", &packet(&[0x1000, 0x2000]), Thread::First);
        let touch =
            |address, bytes, how, parameter| Touch { address, bytes, how, parameter: Some(parameter) };
        assert_eq!(
            found,
            [
                touch(0x1010, 16, How::Read, 0),
                touch(0x2000, 4, How::Shared, 8),
                touch(0x2004, 4, How::Shared, 8)
            ]
        );
    }

    #[test]
    fn registers_of_a_block_are_its_own() {
        let text = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd0, [p];
    {
        .reg .b64 %rd0;
        mov.u64 %rd0, 64;
    }
    st.u8 [%rd0], 1;
    ret;
}
";
        let found = touches(text, "k", &packet(&[0x1000]), Thread::First);
        assert_eq!(found.iter().map(|touch| touch.address).collect::<Vec<_>>(), [0x1000]);
    }

    #[test]
    fn a_signed_argument_is_extended_to_its_register() {
        let text = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 i)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd0, [p];
    ld.param.s32 %rd1, [i];
    shl.b64 %rd1, %rd1, 2;
    add.s64 %rd0, %rd0, %rd1;
    st.global.u32 [%rd0], 1;
    ret;
}
";
        let block = packet(&[0x1000, u64::from((-4_i32) as u32)]);
        let found = touches(text, "k", &block, Thread::First);
        assert_eq!(found.iter().map(|touch| touch.address).collect::<Vec<_>>(), [0x1000 - 16]);
    }

    #[test]
    fn a_signed_result_is_extended_to_its_register() {
        let text = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 i)
{
    .reg .b16 %rs<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd0, [p];
    ld.param.u32 %r0, [i];
    cvt.s8.s32 %rs0, %r0;
    cvt.s64.s16 %rd1, %rs0;
    add.s64 %rd0, %rd0, %rd1;
    cvt.u8.u32 %rs1, %r0;
    cvt.u64.u16 %rd1, %rs1;
    add.s64 %rd0, %rd0, %rd1;
    st.global.u8 [%rd0], 1;
    ret;
}
";
        let block = packet(&[0x1000, u64::from((-4_i32) as u32)]);
        let found = touches(text, "k", &block, Thread::First);
        assert_eq!(found.iter().map(|touch| touch.address).collect::<Vec<_>>(), [0x1000 - 4 + 252]);
    }

    /// As CuPy divides the index of an element by a length that is a power of two.
    #[test]
    fn bits_are_counted() {
        let text = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 length)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [p];
    ld.param.u64 %rd1, [length];
    sub.s64 %rd1, %rd1, 1;
    popc.b64 %r0, %rd1;
    mov.u32 %r1, 4096;
    shr.u32 %r2, %r1, %r0;
    cvt.u32.u64 %r3, %rd1;
    popc.b32 %r3, %r3;
    add.u32 %r2, %r2, %r3;
    cvt.u64.u32 %rd2, %r2;
    add.s64 %rd0, %rd0, %rd2;
    st.global.u8 [%rd0], 1;
    ret;
}
";
        let found = touches(text, "k", &packet(&[0x1000, (1 << 35) | 128]), Thread::First);
        // 127 and a higher bit: 8 bits are set, 7 of them in the lower half.
        assert_eq!(found.iter().map(|touch| touch.address).collect::<Vec<_>>(), [0x1000 + (4096 >> 8) + 7]);
    }

    #[test]
    fn loops_end() {
        let text = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd0, [p];
L:
    st.global.u8 [%rd0], 1;
    add.s64 %rd0, %rd0, 1;
    bra L;
}
";
        let found = touches(text, "k", &packet(&[0x1000]), Thread::First);
        assert!(found.len() > 2 && found.len() <= STEPS, "{}", found.len());
    }
}
