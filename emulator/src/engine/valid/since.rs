//! The PTX version and the target that a module must name for the features that it uses, as in ptxas 13.0: one table.
//!
//! A row is a version, a target (`-` where any will do) and what needs them, separated by blanks. Of several targets between bars any will
//! do. `mma.sp` is every `mma` that has the modifier `.sp`, wherever it stands; of two types or state spaces the first stands before the
//! second: `cvt.f32.bf16` is a conversion from `.bf16`. `{a|b}` is one of the two, and `*` any mnemonic. An instruction needs what the
//! strictest of its rows says, and its operands may add to that. `tests/engine/since.rs` compares the table with what ptxas answered.

use std::collections::HashMap;
use std::sync::OnceLock;

use cuda_ptx::{Directives, Instruction, Module, Operand, Space, Type, Variable};
use rustc_hash::FxHashMap;

use super::names::Names;
use super::operands::register;
use super::target::{Target, Targets};

const TABLE: &[(&str, &str, &str)] = &[
    ("-", "sm_53", "{add|sub|mul|fma|set|setp|abs|neg|tex|tld4}.{f16|f16x2}"),
    ("5.0", "sm_60", "{atom|red}.{cta|gpu|sys} {atom|red}.add.f64"),
    ("5.0", "sm_61", "dp2a dp4a"),
    ("6.0", "-", "barrier bar.warp brx fns neg.{f16|f16x2} {shfl|vote}.sync"),
    ("6.0", "sm_70", "fence match *.{weak|relaxed|acquire|release|acq_rel|sc} *.satfinite"),
    ("6.2", "-", "activemask"),
    ("6.2", "sm_60", "{atom|red}.add.f16x2"),
    ("6.2", "sm_70", "nanosleep"),
    ("6.3", "sm_70", "wmma {atom|red}.add.f16 atom.cas.b16"),
    ("6.3", "sm_72", "wmma.{s8|u8|s32}"),
    ("6.3", "sm_75", "wmma.{m8n8k32|m8n8k128}"),
    ("6.4", "sm_70", "mma"),
    ("6.5", "-", "abs.{f16|f16x2} set.{u16|s16|u32|s32}.{f16|f16x2}"),
    ("6.5", "sm_72", "cvt.pack"),
    ("6.5", "sm_75", "ldmatrix movmatrix mma.{m16n8k8|m8n8k16|m8n8k32} cvt.pack.{u4|s4|u2|s2}"),
    ("7.0", "sm_75", "tanh ex2.{f16|f16x2} mma.m8n8k128"),
    (
        "7.0",
        "sm_80",
        "*.{bf16|bf16x2|tf32} *.relu {min|max}.NaN {min|max}.{f16|f16x2} redux cp mbarrier cvt.{f16x2|bf16x2}.f32 \
         mma.{m16n8k4|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256|f64} wmma.{m8n8k4|m16n16k8}",
    ),
    ("7.1", "sm_80", "cvt.f32.bf16 mbarrier.parity mma.and.popc mma.sp wmma.and.popc"),
    ("7.2", "sm_86", "{min|max}.xorsign"),
    ("7.3", "sm_52", "alloca stacksave stackrestore"),
    (
        "7.4",
        "sm_70",
        "*.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}",
    ),
    ("7.4", "sm_75", "*.{L2::64B|L2::128B}"),
    (
        "7.4",
        "sm_80",
        "*.{L2::256B|L2::cache_hint} createpolicy applypriority discard prefetch.{L2::evict_last|L2::evict_normal}",
    ),
    ("7.5", "sm_60", "*.alias"),
    ("7.6", "sm_70", "bmsk szext"),
    ("7.7", "sm_70", "{cvta|isspacep}.{param|param::entry}"),
    (
        "7.8",
        "-",
        "movmatrix {bar|barrier}.cta cp.mbarrier.shared::cta \
         {ld|st|atom|red|ldmatrix|stmatrix|mbarrier|cvta|isspacep|wmma|fence|tensormap}.shared::cta",
    ),
    ("7.8", "sm_89", "cvt.{e4m3x2|e5m2x2}"),
    (
        "7.8",
        "sm_90",
        "mapa getctarank griddepcontrol barrier.cluster stmatrix mbarrier.try_wait *.cluster *.shared::cluster \
         {add|sub|mul|set|setp|ex2|tanh}.{bf16|bf16x2} {atom|red}.add.{bf16|bf16x2} \
         cvt.bf16.{u8|s8|u16|s16|u32|s32|u64|s64|f16|bf16|f64} cvt.{u8|s8|u16|s16|u32|s32|u64|s64|f16|f64}.bf16 \
         cvt.ftz.f32.bf16 cvt.{rn|rz}.tf32 mma.{m16n8k4|m16n8k8|m16n8k16}.f64",
    ),
    ("8.0", "-", "mbarrier.{cta|cluster}"),
    (
        "8.0",
        "sm_90",
        "{add|min|max}.{u16x2|s16x2} {min|max}.relu.s32 cp.bulk elect prefetch.tensormap fence.{async|mbarrier_init} \
         barrier.cluster.{relaxed|acquire|release} mbarrier.{expect_tx|complete_tx|shared::cluster}",
    ),
    ("8.0", "sm_90a", "wgmma"),
    ("8.0", "sm_90a|sm_100f|sm_110f|sm_120f", "setmaxnreg"),
    ("8.1", "-", "sured.{min|max}.{u64|s64|b64} cvt.satfinite.{f16|f16x2|bf16|bf16x2|tf32}.f32"),
    ("8.1", "sm_90", "multimem fma.oob {st|red}.async {atom|red}.{v2|v4|v8}"),
    ("8.2", "sm_70", "*.mmio lop3.{and|or}"),
    ("8.2", "sm_90", "multimem.ld_reduce.acc::f32"),
    ("8.2", "sm_90a", "wgmma.sp"),
    ("8.3", "-", "*.{param::entry|param::func}"),
    ("8.3", "sm_70", "{ld|ldu|st|mov}.b128"),
    ("8.3", "sm_90", "atom.b128 tensormap fence.tensormap::generic"),
    ("8.3", "sm_90a|sm_100f|sm_110f|sm_120f", "tensormap.replace"),
    ("8.4", "-", "*.sys.b128"),
    ("8.4", "sm_89", "mma.{e4m3|e5m2}"),
    ("8.4", "sm_90a", "wgmma.s8.u8 wgmma.u8.s8"),
    ("8.5", "sm_80", "mma.sp::ordered_metadata"),
    (
        "8.6",
        "sm_90",
        "cp.bulk.shared::cta.global *.{sync_restrict::shared::cta|sync_restrict::shared::cluster} \
         mbarrier.{arrive|arrive_drop|test_wait|try_wait}.relaxed",
    ),
    (
        "8.6",
        "sm_100",
        "{add|sub|mul|fma}.f32x2 {add|sub|fma}.f32.{f16|bf16} clusterlaunchcontrol cp.cp_mask st.bulk \
         cp.{im2col::w|im2col::w::128|tile::gather4|tile::scatter4} cvt.{rn|rz}.satfinite.tf32",
    ),
    ("8.6", "sm_100f", "redux.f32"),
    ("8.6", "sm_100f|sm_110f", "tcgen05 cp.{cta_group::1|cta_group::2}"),
    (
        "8.6",
        "sm_100f|sm_110f|sm_120f",
        "clusterlaunchcontrol.multicast::cluster::all ldmatrix.{m16n16|b8x16} stmatrix.m16n8 tensormap.swizzle_atomicity \
         mma.kind::f8f6f4 cvt.{e2m1x2|e2m3x2|e3m2x2|ue8m0x2}",
    ),
    ("8.6", "sm_100f|sm_110f|sm_120a|sm_121a", "multimem.{e4m3|e5m2|e4m3x2|e5m2x2|e4m3x4|e5m2x4}"),
    ("8.7", "-", "mma.kind::f8f6f4.f16"),
    (
        "8.7",
        "sm_120f",
        "mma.kind::f8f6f4.{e2m1|e2m3|e3m2} mma.{kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4} \
         mma.{sp|sp::ordered_metadata}.f16.{e4m3|e5m2}",
    ),
    ("8.7", "sm_100a|sm_103a", "cvt.rs"),
    ("8.7", "sm_89", "mma.m16n8k16.{e4m3|e5m2} mma.f16.{e4m3|e5m2}"),
    ("8.8", "sm_100", "{ld|st}.v8.{b32|u32|s32|f32} {ld|st}.v4.{b64|u64|s64|f64}"),
    (
        "9.1",
        "sm_100f|sm_110f|sm_120f",
        "cvt.{e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2}.bf16x2 cvt.{e2m3x2|e3m2x2}.f16x2",
    ),
    ("9.1", "sm_100a|sm_103a|sm_110a|sm_120a|sm_121a", "cvt.s2f6x2"),
    // From here on as ptxas 13.5 has it.
    ("9.1", "-", "{ld|st}.volatile.local mma.scale_vec::4X.ue8m0"),
    ("9.1", "sm_90", "multimem.cp"),
    ("9.2", "sm_90", "st.async.b128 cp.ignore_oob"),
    ("9.2", "sm_100f|sm_110f|sm_120f", "cvt.bf16x2.{e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2}"),
    ("9.2", "sm_120f", "{add|sub|min|max|neg}.{u8x4|s8x4} add.sat.{u16x2|s16x2|u32}"),
    ("9.3", "-", "ld.mmio.acquire st.mmio.release"),
    ("9.3", "sm_80", "clmad"),
    (
        "9.3",
        "sm_90",
        "cp.bulk.{weak|relaxed} mbarrier.{layout::v0|layout::v1|phase_type::primary|phase_type::conditional}",
    ),
    ("9.3", "sm_90a|sm_100f|sm_110f", "cp.bulk.relaxed.shared::cluster.global"),
    (
        "9.3",
        "sm_100",
        "fabric fence.{generic::fabric|fabric::generic|fabric::fabric} multimem.{st|red}.async",
    ),
    ("9.4", "sm_90", "{atom|red}.noftz.f32 cp.noftz.f32 ld.proxy::readonly prefetch.valid_addr"),
    ("9.4", "sm_90", "cp.multicast::cluster::16b fence.sync_restrict::shared::cluster::read"),
    ("9.4", "sm_90a|sm_100f|sm_110f|sm_120f", "ldmatrix.s8.s4"),
    ("9.5", "-", "{sin|cos}.2pi"),
    ("9.5", "sm_90a|sm_100f|sm_110f|sm_120f", "tensormap.query"),
    ("9.5", "sm_90", "cp.sync_restrict::proxy::async fence.sync_restrict::read"),
];

/// Special registers, without the part after a dot.
fn of_special(family: &str) -> Need {
    match family {
        "%clock_hi" => Need::new(50, 0),
        "%reserved_smem_offset_begin"
        | "%reserved_smem_offset_end"
        | "%reserved_smem_offset_cap"
        | "%reserved_smem_offset_0"
        | "%reserved_smem_offset_1" => Need::new(76, 80),
        "%is_explicit_cluster"
        | "%clusterid"
        | "%nclusterid"
        | "%cluster_ctaid"
        | "%cluster_nctaid"
        | "%cluster_ctarank"
        | "%cluster_nctarank" => Need::new(78, 90),
        "%current_graph_exec" => Need::new(80, 0),
        "%aggr_smem_size" => Need::new(81, 90),
        _ => Need::NONE,
    }
}

/// From here on `shfl` and `vote` have `.sync`.
const SYNC: Need = Need::new(64, 70);

/// From here on there is one bank of constants.
const BANKS_ARE_GONE: u32 = 22;
/// From here on a texture is a variable of type `.texref`.
const TEX_IS_GONE: u32 = 15;

/// A version, as `major * 10 + minor`, and the targets that have something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Need {
    version: u32,
    targets: Targets,
}

impl Need {
    /// What everything has.
    const NONE: Need = Need::new(0, 0);

    const fn new(version: u32, number: u32) -> Need {
        Need { version, targets: Targets::From(number) }
    }

    fn read(version: &str, targets: &'static str) -> Need {
        let version = version
            .split_once('.')
            .and_then(|(major, minor)| Some(major.parse::<u32>().ok()? * 10 + minor.parse::<u32>().ok()?));
        Need { version: version.unwrap_or_default(), targets: Targets::read(targets) }
    }

    fn and(self, other: Need) -> Need {
        Need { version: self.version.max(other.version), targets: self.targets.and(other.targets) }
    }
}

/// What needs something: modifiers in order, each one of some.
struct Pattern {
    modifiers: Vec<Vec<&'static str>>,
    need: Need,
}

impl Pattern {
    /// Reads `{a|b}.{c|d}.e`: the mnemonics and the rest.
    fn read(text: &'static str, need: Need) -> (Vec<&'static str>, Pattern) {
        let choice = |part: &'static str| part.trim_matches(['{', '}']).split('|').collect();
        let mut parts = text.split('.').map(choice);
        let mnemonics = parts.next().unwrap_or_default();
        (mnemonics, Pattern { modifiers: parts.collect(), need })
    }

    fn matches<'n>(&self, parts: impl Iterator<Item = &'n str> + Clone) -> bool {
        let (mut types, mut spaces) = (parts.clone(), parts.clone());
        self.modifiers.iter().all(|choice| match choice.first() {
            Some(first) if Type::from_name(first).is_some() => types.any(|part| choice.contains(&part)),
            Some(first) if Space::from_name(first).is_some() => spaces.any(|part| choice.contains(&part)),
            _ => parts.clone().any(|part| choice.contains(&part)),
        })
    }
}

/// The table by mnemonic.
fn patterns() -> &'static HashMap<&'static str, Vec<Pattern>> {
    static PATTERNS: OnceLock<HashMap<&'static str, Vec<Pattern>>> = OnceLock::new();
    PATTERNS.get_or_init(|| {
        let mut all: HashMap<_, Vec<Pattern>> = HashMap::new();
        for (version, target, texts) in TABLE {
            for text in texts.split_whitespace() {
                for mnemonic in Pattern::read(text, Need::NONE).0 {
                    let pattern = Pattern::read(text, Need::read(version, target)).1;
                    all.entry(mnemonic).or_default().push(pattern);
                }
            }
        }
        all
    })
}

/// The requirements of an instruction name.
fn of_name(name: &str) -> Need {
    let mut parts = name.split('.');
    let mnemonic = parts.next().unwrap_or_default();
    let rows = [mnemonic, "*"].into_iter().filter_map(|mnemonic| patterns().get(mnemonic)).flatten();
    let needs = rows.filter(|pattern| pattern.matches(parts.clone())).map(|pattern| pattern.need);
    needs.fold(Need::NONE, Need::and)
}

/// The requirements of the special registers among the operands.
fn of_registers(operand: &Operand<'_>, names: &Names<'_>) -> Need {
    let of = |name: &str| {
        let need = of_special(name.split('.').next().unwrap_or_default());
        if need == Need::NONE || names.find(name).is_some() { Need::NONE } else { need }
    };
    match operand {
        Operand::Name(name) | Operand::Not(name) if name.starts_with('%') => of(name),
        _ => Need::NONE,
    }
}

/// The requirements that follow only from the number and kinds of operands.
fn of_operands(instruction: &Instruction<'_>, names: &Names<'_>) -> Need {
    let (name, operands) = (instruction.name, instruction.operands.as_slice());
    let has = |part: &str| name.split('.').any(|other| other == part);
    match (name.split('.').next().unwrap_or_default(), operands) {
        // A count may leave the phase as it is only from here on.
        ("mbarrier", [_, _, _])
            if (has("arrive") || has("arrive_drop")) && !has("noComplete") && !has("expect_tx") =>
        {
            Need::new(78, 90)
        }
        ("mbarrier", [Operand::Name("_"), ..]) if has("arrive") => Need::new(71, 80),
        // Nothing is read if the predicate says so.
        ("cp", [_, _, _, ignore, ..]) if !has("bulk") && register(names, ignore) == Some(Type::Pred) => {
            Need::new(75, 80)
        }
        ("min" | "max", [_, _, _, _]) => Need::new(88, 100),
        ("fence", [])
            if matches!(name.strip_prefix("fence.proxy.alias."), Some("acquire.sys" | "release.sys")) =>
        {
            Need::new(94, 90)
        }
        // Whether the texels are resident.
        ("tex" | "tld4", [Operand::Pair(..), ..]) => Need::new(71, 60),
        _ => Need::NONE,
    }
}

/// Most bytes of a kernel's parameters before PTX 8.1 and `sm_70` (PTX ISA, "Parameter State Space").
const FEWER_PARAMETERS: usize = 4352;

/// The version and target that a module names, and the requirements of instruction names seen so far.
pub(super) struct Since<'a> {
    version: u32,
    target: Target,
    known: FxHashMap<&'a str, Need>,
}

impl<'a> Since<'a> {
    pub(super) fn new(module: &Module<'a>) -> Since<'a> {
        let (major, minor) = module.version;
        let target = module.arch().map(Target::from).unwrap_or_default();
        let version = major.saturating_mul(10).saturating_add(minor);
        Since { version, target, known: FxHashMap::default() }
    }

    /// Checks an instruction; the error says what it needs.
    pub(super) fn instruction(
        &mut self,
        instruction: &Instruction<'a>,
        names: &Names<'a>,
    ) -> Result<(), String> {
        let name = instruction.name;
        if matches!(name.split('.').next(), Some("shfl" | "vote")) && !name.contains(".sync") {
            self.without_sync(name)?;
        }
        let by_name = *self.known.entry(name).or_insert_with(|| of_name(name));
        let registers = instruction.operands.iter().map(|operand| of_registers(operand, names));
        let need = registers.fold(by_name.and(of_operands(instruction, names)), Need::and);
        self.check(need, name)
    }

    /// Checks how many bytes of parameters a kernel has.
    pub(super) fn parameters(&self, bytes: usize) -> Result<(), String> {
        match bytes > FEWER_PARAMETERS {
            true => {
                self.check(Need::new(81, 70), &format!("more than {FEWER_PARAMETERS} bytes of parameters"))
            }
            false => Ok(()),
        }
    }

    /// Checks what is said about a kernel.
    pub(super) fn directives(&self, directives: &Directives) -> Result<(), String> {
        let clusters = [
            (directives.blocksareclusters, ".blocksareclusters", Need::new(90, 90)),
            (directives.reqnctapercluster.is_some(), ".reqnctapercluster", Need::new(78, 90)),
            (directives.maxclusterrank.is_some(), ".maxclusterrank", Need::new(78, 90)),
            (directives.explicitcluster, ".explicitcluster", Need::new(78, 90)),
        ];
        let mut named = clusters.into_iter().filter(|(named, ..)| *named);
        named.try_for_each(|(_, what, need)| self.check(need, what))
    }

    /// Checks the type of a register.
    pub(super) fn register(&self, ty: Type) -> Result<(), String> {
        if ty == Type::B128 { self.check(Need::new(83, 70), ".b128") } else { Ok(()) }
    }

    /// Whether the module may name banks of constants: `.const[2]`.
    pub(super) fn has_banks(&self) -> bool {
        self.version < BANKS_ARE_GONE
    }

    /// Checks the space of a variable: `.tex` is gone.
    pub(super) fn variable(&self, variable: &Variable<'_>) -> Result<(), String> {
        if variable.space != Space::Tex || self.version < TEX_IS_GONE {
            return Ok(());
        }
        let name = variable.name;
        Err(format!("`{name}`: .tex is gone since .version 1.5; write `.global .texref {name}`"))
    }

    fn without_sync(&self, name: &str) -> Result<(), String> {
        if self.version < SYNC.version || !SYNC.targets.include(self.target) {
            return Ok(());
        }
        let replacement = name.replacen('.', ".sync.", 1);
        Err(format!(
            "`{name}` is gone since .version 6.4 for .target sm_70 or higher; write `{replacement}` with the mask of lanes"
        ))
    }

    fn check(&self, need: Need, what: &str) -> Result<(), String> {
        let (mut wanted, mut said) = (Vec::new(), Vec::new());
        let version = |version: u32| format!("{}.{}", version / 10, version % 10);
        if self.version < need.version {
            wanted.push(format!(".version {} or later", version(need.version)));
            said.push(version(self.version));
        }
        if !need.targets.include(self.target) {
            wanted.push(format!(".target {}", need.targets));
            said.push(self.target.to_string());
        }
        if wanted.is_empty() {
            return Ok(());
        }
        Err(format!("`{what}` needs {}; the module says {}", wanted.join(" and "), said.join(" and ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_stand_in_order() {
        assert_eq!(of_name("cvt.f32.bf16").version, 71);
        assert_eq!(of_name("st.local.volatile.f32").version, 91);
        assert_eq!(of_name("cvt.rn.bf16.f32").version, 70);
        assert_eq!(of_name("add.u32").version, 0);
    }
}
