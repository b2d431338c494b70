//! Headers of modules, and the first version and target with which ptxas 13.0 takes an instruction.

use cuda_emulator::Architecture;

/// Targets by age, each with the version that brought it.
const TARGETS: &[(&str, (u32, u32))] = &[
    ("sm_50", (4, 0)),
    ("sm_52", (4, 1)),
    ("sm_53", (4, 2)),
    ("sm_60", (5, 0)),
    ("sm_61", (5, 0)),
    ("sm_62", (5, 0)),
    ("sm_70", (6, 0)),
    ("sm_72", (6, 1)),
    ("sm_75", (6, 3)),
    ("sm_80", (7, 0)),
    ("sm_86", (7, 1)),
    ("sm_87", (7, 4)),
    ("sm_89", (7, 8)),
    ("sm_90", (7, 8)),
    ("sm_90a", (8, 0)),
    ("sm_100", (8, 6)),
    ("sm_100a", (8, 6)),
    ("sm_100f", (8, 8)),
    ("sm_103", (8, 8)),
    ("sm_110", (9, 0)),
    ("sm_120", (8, 7)),
    ("sm_120a", (8, 7)),
    ("sm_120f", (8, 8)),
];

/// The newest of them that a device of `sm_90` runs.
const NEWEST_OF_SM_90: &str = "sm_90a";

/// Versions that brought something, but for those before 4.3.
const VERSIONS: &[(u32, u32)] = &[
    (4, 3),
    (5, 0),
    (6, 0),
    (6, 1),
    (6, 2),
    (6, 3),
    (6, 4),
    (6, 5),
    (7, 0),
    (7, 1),
    (7, 2),
    (7, 3),
    (7, 4),
    (7, 5),
    (7, 6),
    (7, 7),
    (7, 8),
    (8, 0),
    (8, 1),
    (8, 2),
    (8, 3),
    (8, 4),
    (8, 5),
    (8, 6),
    (8, 7),
    (8, 8),
    (9, 0),
];

/// What stands at the head of a module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) version: (u32, u32),
    pub(crate) target: &'static str,
}

/// Every version with every target that it has.
fn headers() -> impl Iterator<Item = Header> {
    let targets = |version| TARGETS.iter().filter(move |(_, since)| *since <= version);
    VERSIONS
        .iter()
        .flat_map(move |&version| targets(version).map(move |&(target, _)| Header { version, target }))
}

/// The newest version with every target, and every version with its newest target up to `sm_90a`, and with all later ones.
pub(crate) fn edges() -> Vec<Header> {
    let all: Vec<Header> = headers().collect();
    let newest = all.iter().map(|header| header.version).max();
    let older = |header: &Header| age(header.target) <= age(NEWEST_OF_SM_90);
    let last =
        |at: usize| !all.get(at + 1).is_some_and(|next| next.version == all[at].version && older(next));
    let kept = |at: &usize| Some(all[*at].version) == newest || last(*at);
    (0..all.len()).filter(kept).map(|at| all[at]).collect()
}

fn age(target: &str) -> usize {
    TARGETS.iter().position(|(other, _)| *other == target).unwrap_or(TARGETS.len())
}

impl Header {
    /// The architecture for which `ptxas` compiles it: at most the one of `sm_90a` where that will do.
    #[allow(dead_code)] // not everyone runs `ptxas`
    pub(crate) fn arch(self) -> &'static str {
        if age(self.target) <= age(NEWEST_OF_SM_90) { NEWEST_OF_SM_90 } else { self.target }
    }

    /// A device that runs it.
    pub(crate) fn device(self) -> Architecture {
        match self.target {
            target if age(target) <= age(NEWEST_OF_SM_90) => Architecture::Sm90,
            "sm_100" | "sm_100a" | "sm_100f" => Architecture::Sm100,
            _ => Architecture::Sm120,
        }
    }
}

/// A line of the list.
pub(crate) struct Fact {
    pub(crate) version: (u32, u32),
    /// The first target of those without a letter; or all that have it, between commas.
    pub(crate) target: &'static str,
    pub(crate) instruction: &'static str,
}

impl Fact {
    /// Whether ptxas takes the instruction under that header.
    pub(crate) fn holds_under(&self, header: Header) -> bool {
        let number =
            |name: &str| name.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap_or(u32::MAX);
        let listed = self.target.split(',').any(|target| target == header.target);
        let is_plain = self.target.ends_with(|c: char| c.is_ascii_digit());
        let later = is_plain && number(header.target) >= number(self.target);
        header.version >= self.version && (listed || later)
    }
}

/// The list.
pub(crate) fn facts() -> Vec<Fact> {
    read(include_str!("instructions.txt"))
}

/// The list of what came after PTX 9.0.
#[allow(dead_code)] // `ptxas` 13.0 does not have it
pub(crate) fn newer() -> Vec<Fact> {
    read(include_str!("newer.txt"))
}

fn read(text: &'static str) -> Vec<Fact> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fact = |line: &'static str| {
        let mut words = line.splitn(3, ' ');
        let (major, minor) = words.next()?.split_once('.')?;
        let version = (major.parse().ok()?, minor.parse().ok()?);
        Some(Fact { version, target: words.next()?, instruction: words.next()? })
    };
    lines.map(|line| fact(line).expect(line)).collect()
}

/// The line of the first instruction of a [`module`].
pub(crate) const FIRST: usize = 6;

/// A kernel that has one instruction a line.
pub(crate) fn module(instructions: &[&str], header: Header) -> String {
    let Header { version: (major, minor), target } = header;
    let wide = instructions.iter().any(|line| line.contains("%q"));
    let wide = if wide { ".reg .b128 %q<10>;" } else { "" };
    format!(
        ".version {major}.{minor}\n.target {target}\n.address_size 64\n.visible .entry k(.param .b64 p)\n\
         {{ .reg .pred %p<10>; .reg .b8 %c<10>; .reg .b16 %h<10>; .reg .b32 %r<130>; .reg .f32 %f<130>; \
         .reg .f64 %d<20>; .reg .b64 %x<20>; .param .align 16 .b8 q[64]; {wide}\n{}\nEND: ret; }}\n",
        instructions.join("\n")
    )
}
