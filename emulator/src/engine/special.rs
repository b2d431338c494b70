//! Special registers (PTX ISA, "Special Registers").
#![allow(unsafe_code)]
// Relies on: the instruction built here has one destination, of the class that it was built for.

use std::time::{SystemTime, UNIX_EPOCH};

use super::code::{Exec, Inst, Step};
use super::decode::draft::Refusal;
use super::exec::lanes::Lanes;
use super::exec::operand::{Class, Dest};
use super::windows::{RESERVED_SCRATCH, SHARED_START};

macro_rules! specials {
    ($($variant:ident $name:literal,)*) => {
        /// A special register.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u64)]
        #[allow(missing_docs)] // each variant is the register of that name
        pub(crate) enum Special {
            $($variant,)*
        }

        impl Special {
            const ALL: &'static [Special] = &[$(Special::$variant),*];

            /// The register of that name.
            pub(crate) fn from_name(name: &str) -> Option<Special> {
                match name {
                    $($name => Some(Special::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

specials! {
    TidX "%tid.x", TidY "%tid.y", TidZ "%tid.z",
    NtidX "%ntid.x", NtidY "%ntid.y", NtidZ "%ntid.z",
    CtaidX "%ctaid.x", CtaidY "%ctaid.y", CtaidZ "%ctaid.z",
    NctaidX "%nctaid.x", NctaidY "%nctaid.y", NctaidZ "%nctaid.z",
    LaneId "%laneid", WarpId "%warpid", NwarpId "%nwarpid",
    SmId "%smid", NsmId "%nsmid", GridId "%gridid",
    LanemaskEq "%lanemask_eq", LanemaskLt "%lanemask_lt", LanemaskLe "%lanemask_le",
    LanemaskGt "%lanemask_gt", LanemaskGe "%lanemask_ge",
    Clock "%clock", ClockHi "%clock_hi", Clock64 "%clock64",
    GlobalTimer "%globaltimer", GlobalTimerLo "%globaltimer_lo", GlobalTimerHi "%globaltimer_hi",
    IsExplicitCluster "%is_explicit_cluster",
    ClusterIdX "%clusterid.x", ClusterIdY "%clusterid.y", ClusterIdZ "%clusterid.z",
    NclusterIdX "%nclusterid.x", NclusterIdY "%nclusterid.y", NclusterIdZ "%nclusterid.z",
    ClusterCtaidX "%cluster_ctaid.x", ClusterCtaidY "%cluster_ctaid.y", ClusterCtaidZ "%cluster_ctaid.z",
    ClusterNctaidX "%cluster_nctaid.x", ClusterNctaidY "%cluster_nctaid.y", ClusterNctaidZ "%cluster_nctaid.z",
    ClusterCtarank "%cluster_ctarank", ClusterNctarank "%cluster_nctarank",
    CurrentGraphExec "%current_graph_exec",
    EnvReg1 "%envreg1", EnvReg2 "%envreg2",
    TotalSmemSize "%total_smem_size", AggrSmemSize "%aggr_smem_size", DynamicSmemSize "%dynamic_smem_size",
    ReservedSmemBegin "%reserved_smem_offset_begin", ReservedSmemEnd "%reserved_smem_offset_end",
    ReservedSmemCap "%reserved_smem_offset_cap",
    ReservedSmem0 "%reserved_smem_offset_0", ReservedSmem1 "%reserved_smem_offset_1",
}

impl Special {
    /// The instruction that reads a register, chosen by `imm`, into one of that class.
    pub(crate) fn exec(self, class: Class) -> Result<Exec, Refusal> {
        match (class, self.axis_of_tid(), self.is_uniform()) {
            (Class::Word, Some(_), _) => Ok(|lanes, inst| {
                let row = &lanes.warp().tid[inst.imm as usize % 3].0;
                // SAFETY: 1: the decoder made operand 0 the destination, of the class that this function was chosen for (duty 2 of `Exec`): a word.
                unsafe { <u32 as Dest>::commit(lanes, &inst.ops, row) };
                Step::Next
            }),
            (Class::Word, _, true) => Ok(|lanes, inst| {
                let value = Special::of(inst).uniform(lanes) as u32;
                // SAFETY: 1: operand 0 is the destination, of the class that this function was chosen for (duty 2 of `Exec`): a word.
                unsafe { <u32 as Dest>::commit(lanes, &inst.ops, &[value; 32]) };
                Step::Next
            }),
            (Class::Word, _, false) => Ok(|lanes, inst| {
                let value = Special::of(inst).value(lanes);
                // SAFETY: 1: operand 0 is the destination, of the class that this function was chosen for (duty 2 of `Exec`): a word.
                unsafe { <u32 as Dest>::commit(lanes, &inst.ops, &value.map(|value| value as u32)) };
                Step::Next
            }),
            (Class::Wide, ..) => Ok(|lanes, inst| {
                let value = Special::of(inst).value(lanes);
                // SAFETY: 1: operand 0 is the destination, of the class that this function was chosen for (duty 2 of `Exec`): wide.
                unsafe { <u64 as Dest>::commit(lanes, &inst.ops, &value) };
                Step::Next
            }),
            (Class::Predicate, ..) if self == Special::IsExplicitCluster => Ok(|lanes, inst| {
                let explicit = lanes.env.cluster != [1; 3];
                // SAFETY: 1: operand 0 is the destination, of the class that this function was chosen for (duty 2 of `Exec`): a predicate.
                unsafe { <bool as Dest>::commit(lanes, &inst.ops, &(u32::from(explicit).wrapping_neg())) };
                Step::Next
            }),
            _ => Err(Refusal::new("a special register does not fit there")),
        }
    }

    /// The axis of a `%tid`. They come first, so that it is also the register's number.
    fn axis_of_tid(self) -> Option<usize> {
        (self as usize <= Special::TidZ as usize).then_some(self as usize)
    }

    /// Whether the register is the same for a whole warp.
    fn is_uniform(self) -> bool {
        use Special::{LaneId, LanemaskEq, LanemaskGe, LanemaskGt, LanemaskLe, LanemaskLt};
        let own = [LaneId, LanemaskEq, LanemaskLt, LanemaskLe, LanemaskGt, LanemaskGe];
        self.axis_of_tid().is_none() && !own.contains(&self)
    }

    fn of(inst: &Inst) -> Special {
        Special::ALL.get(inst.imm as usize).copied().unwrap_or(Special::LaneId)
    }

    fn value(self, lanes: &Lanes<'_>) -> [u64; 32] {
        match self {
            Special::TidX => lanes.warp().tid[0].0.map(u64::from),
            Special::TidY => lanes.warp().tid[1].0.map(u64::from),
            Special::TidZ => lanes.warp().tid[2].0.map(u64::from),
            Special::LaneId => std::array::from_fn(|lane| lane as u64),
            Special::LanemaskEq => std::array::from_fn(|lane| 1 << lane),
            Special::LanemaskLt => std::array::from_fn(|lane| (1 << lane) - 1),
            Special::LanemaskLe => std::array::from_fn(|lane| (2 << lane) - 1),
            Special::LanemaskGt => std::array::from_fn(|lane| u64::from(u32::MAX) & !((2 << lane) - 1)),
            Special::LanemaskGe => std::array::from_fn(|lane| u64::from(u32::MAX) & !((1 << lane) - 1)),
            _ => [self.uniform(lanes); 32],
        }
    }

    /// Registers that are the same for a whole warp.
    fn uniform(self, lanes: &Lanes<'_>) -> u64 {
        let (env, block) = (lanes.env, lanes.block());
        let (launch, architecture) = (env.launch, env.memory.architecture());
        let shared = u64::from(launch.dynamic_shared) + u64::from(env.kernel.static_end - SHARED_START);
        match self {
            Special::NtidX => launch.block[0].into(),
            Special::NtidY => launch.block[1].into(),
            Special::NtidZ => launch.block[2].into(),
            Special::CtaidX => block.id[0].into(),
            Special::CtaidY => block.id[1].into(),
            Special::CtaidZ => block.id[2].into(),
            Special::NctaidX => launch.grid[0].into(),
            Special::NctaidY => launch.grid[1].into(),
            Special::NctaidZ => launch.grid[2].into(),
            Special::WarpId => lanes.warp().index.into(),
            Special::NwarpId => u64::from(architecture.machine().threads / 32),
            Special::SmId => block.linear % u64::from(architecture.model().multiprocessors),
            Special::NsmId => architecture.model().multiprocessors.into(),
            Special::GridId => env.grid_id,
            Special::Clock | Special::Clock64 => lanes.clock(),
            Special::ClockHi => lanes.clock() >> 32,
            Special::GlobalTimer | Special::GlobalTimerLo => nanoseconds(lanes),
            Special::GlobalTimerHi => nanoseconds(lanes) >> 32,
            Special::IsExplicitCluster => (env.cluster != [1; 3]).into(),
            Special::CurrentGraphExec => env.ends.graphs.map_or(0, |graphs| graphs.current()),
            Special::EnvReg1 => env.workspace >> 32,
            Special::EnvReg2 => env.workspace & u64::from(u32::MAX),
            Special::TotalSmemSize | Special::AggrSmemSize => shared,
            Special::DynamicSmemSize => launch.dynamic_shared.into(),
            Special::ReservedSmemEnd | Special::ReservedSmemCap => SHARED_START.into(),
            Special::ReservedSmem0 | Special::ReservedSmem1 => RESERVED_SCRATCH.into(),
            _ => self.cluster(lanes),
        }
    }

    fn cluster(self, lanes: &Lanes<'_>) -> u64 {
        let (size, grid, id) = (lanes.env.cluster, lanes.env.launch.grid, lanes.block().id);
        match self {
            Special::ClusterIdX => (id[0] / size[0]).into(),
            Special::ClusterIdY => (id[1] / size[1]).into(),
            Special::ClusterIdZ => (id[2] / size[2]).into(),
            Special::NclusterIdX => (grid[0] / size[0]).into(),
            Special::NclusterIdY => (grid[1] / size[1]).into(),
            Special::NclusterIdZ => (grid[2] / size[2]).into(),
            Special::ClusterCtaidX => (id[0] % size[0]).into(),
            Special::ClusterCtaidY => (id[1] % size[1]).into(),
            Special::ClusterCtaidZ => (id[2] % size[2]).into(),
            Special::ClusterNctaidX => size[0].into(),
            Special::ClusterNctaidY => size[1].into(),
            Special::ClusterNctaidZ => size[2].into(),
            Special::ClusterCtarank => lanes.block().rank.into(),
            Special::ClusterNctarank => size.iter().map(|extent| u64::from(*extent)).product(),
            _ => 0,
        }
    }
}

/// The time: under several orders that of the launches, so that a seed is the same each time; else that of the host.
fn nanoseconds(lanes: &Lanes<'_>) -> u64 {
    if let Some(order) = &lanes.order {
        return order.time(lanes.clock());
    }
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}
