//! Headers of modules, and the first version and target with which ptxas 13.0 takes an instruction.

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
];

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

/// The newest version with every target, and every version with its newest target.
pub(crate) fn edges() -> Vec<Header> {
    let all: Vec<Header> = headers().collect();
    let newest = all.iter().map(|header| header.version).max();
    let last = |at: usize| all.get(at + 1).is_none_or(|next| next.version != all[at].version);
    let kept = |at: &usize| Some(all[*at].version) == newest || last(*at);
    (0..all.len()).filter(kept).map(|at| all[at]).collect()
}

/// A line of the list.
pub(crate) struct Fact {
    pub(crate) version: (u32, u32),
    pub(crate) target: &'static str,
    pub(crate) instruction: &'static str,
}

impl Fact {
    /// Whether ptxas takes the instruction under that header.
    pub(crate) fn holds_under(&self, header: Header) -> bool {
        let age = |name| TARGETS.iter().position(|(target, _)| *target == name).unwrap_or(TARGETS.len());
        header.version >= self.version && age(header.target) >= age(self.target)
    }
}

/// The list.
pub(crate) fn facts() -> Vec<Fact> {
    let lines = include_str!("instructions.txt").lines().filter(|line| !line.starts_with('#'));
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
