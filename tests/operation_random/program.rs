//! Random programs, and what they give when one thing is done after the other.

use proptest::prelude::*;

/// Elements of each buffer.
pub const N: usize = 16;

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// `cuda_launch!` in an `execute` of its own.
    Macro,
    /// `AsyncKernelLaunch` with the buffer.
    Builder,
    /// `AsyncKernelLaunch` with bare addresses, which nobody orders but the chain.
    Address,
    /// `OwnedKernelLaunch`.
    Owned,
}

/// Where an operation runs.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Single,
    Pool,
    /// A stream that nobody keeps.
    Fresh,
    Device,
}

/// An operation. Each gives one buffer.
#[derive(Clone, Debug)]
pub enum Op {
    Zeroed,
    Filled(u32),
    /// x = x * m + a
    Step(Box<Op>, Form, u32, u32),
    /// Side by side, then x = x * 31 + y.
    Zip(Box<Op>, Box<Op>),
    All(Vec<Op>),
    /// Begun together, the second one to be done is waited for after the first.
    Select(Box<Op>, Box<Op>),
    /// Used twice.
    Shared(Box<Op>),
    /// The parts run in the other order.
    Unzip(Box<Op>, Box<Op>),
    At(Place, Box<Op>),
    Keep(Box<Op>),
    /// Another is waited for in a closure of the first.
    Sync(Box<Op>, Box<Op>),
    Await(Box<Op>, Box<Op>),
    Scope(Box<Op>, Box<Op>),
    Fail(Box<Op>),
    Panic(Box<Op>),
}

/// What is done with an operation.
#[derive(Clone, Copy, Debug)]
pub enum End {
    Sync,
    SyncOn,
    Await,
    /// Awaited on a thread of its own, while the program goes on.
    Thread,
    /// Given to a stream; its output is read on the same stream.
    AsyncOn,
    Submit,
    /// Waits for so many microseconds.
    Timeout(u64),
    /// Polled so many times, and not waited for.
    Drop(u8),
    Forget(u8),
}

/// An operation, what is done with it, and whether its stream is busy with something else.
#[derive(Clone, Debug)]
pub struct Item {
    pub op: Op,
    pub end: End,
    pub busy: bool,
}

/// Why there is no buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    Error,
    Panic,
}

pub type Reference = Result<[u32; N], Bad>;

fn collect(y: [u32; N], x: [u32; N]) -> [u32; N] {
    std::array::from_fn(|i| y[i].wrapping_mul(31).wrapping_add(x[i]))
}

fn both(a: &Op, b: &Op) -> Reference {
    let a = reference(a)?;
    Ok(collect(a, reference(b)?))
}

/// What an operation gives.
pub fn reference(op: &Op) -> Reference {
    match op {
        Op::Zeroed => Ok([0; N]),
        Op::Filled(value) => Ok(std::array::from_fn(|i| value.wrapping_add(i as u32))),
        Op::Step(op, _, m, a) => Ok(reference(op)?.map(|x| x.wrapping_mul(*m).wrapping_add(*a))),
        Op::Zip(a, b) | Op::Select(a, b) | Op::Sync(a, b) | Op::Await(a, b) | Op::Scope(a, b) => both(a, b),
        Op::Unzip(a, b) => {
            let (a, b) = (reference(a)?, reference(b)?);
            Ok(collect(b, a))
        }
        Op::All(ops) => ops.iter().try_fold([0; N], |y, op| Ok(collect(y, reference(op)?))),
        Op::Shared(op) => {
            let x = reference(op)?;
            Ok(collect(collect([0; N], x), x))
        }
        Op::At(_, op) | Op::Keep(op) => reference(op),
        Op::Fail(op) => reference(op).and(Err(Bad::Error)),
        Op::Panic(op) => reference(op).and(Err(Bad::Panic)),
    }
}

fn forms() -> impl Strategy<Value = Form> {
    prop_oneof![Just(Form::Macro), Just(Form::Builder), Just(Form::Address), Just(Form::Owned)]
}

fn places() -> impl Strategy<Value = Place> {
    prop_oneof![Just(Place::Single), Just(Place::Pool), Just(Place::Fresh), Just(Place::Device)]
}

fn ops() -> impl Strategy<Value = Op> {
    let leaf = prop_oneof![Just(Op::Zeroed), any::<u32>().prop_map(Op::Filled)];
    leaf.prop_recursive(5, 24, 3, |op| {
        let one = op.clone().prop_map(Box::new);
        let two = (one.clone(), one.clone());
        prop_oneof![
            6 => (one.clone(), forms(), any::<u32>(), any::<u32>()).prop_map(|(op, f, m, a)| Op::Step(op, f, m, a)),
            3 => two.clone().prop_map(|(a, b)| Op::Zip(a, b)),
            2 => proptest::collection::vec(op, 0..5).prop_map(Op::All),
            1 => two.clone().prop_map(|(a, b)| Op::Select(a, b)),
            2 => one.clone().prop_map(Op::Shared),
            2 => two.clone().prop_map(|(a, b)| Op::Unzip(a, b)),
            3 => (places(), one.clone()).prop_map(|(place, op)| Op::At(place, op)),
            2 => one.clone().prop_map(Op::Keep),
            1 => two.clone().prop_map(|(a, b)| Op::Sync(a, b)),
            1 => two.clone().prop_map(|(a, b)| Op::Await(a, b)),
            1 => two.prop_map(|(a, b)| Op::Scope(a, b)),
            1 => prop_oneof![one.clone().prop_map(Op::Fail), one.prop_map(Op::Panic)],
        ]
    })
}

fn ends() -> impl Strategy<Value = End> {
    prop_oneof![
        2 => Just(End::Sync),
        1 => Just(End::SyncOn),
        3 => Just(End::Await),
        1 => Just(End::Thread),
        1 => Just(End::AsyncOn),
        1 => Just(End::Submit),
        1 => (0..1000u64).prop_map(End::Timeout),
        3 => (0..4u8).prop_map(End::Drop),
        1 => (0..4u8).prop_map(End::Forget),
    ]
}

/// Some operations, each begun without a wait for those before it.
pub fn programs() -> impl Strategy<Value = Vec<Item>> {
    let item = (ops(), ends(), any::<bool>()).prop_map(|(op, end, busy)| Item { op, end, busy });
    proptest::collection::vec(item, 1..5)
}
