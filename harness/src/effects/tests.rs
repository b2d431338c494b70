//! Every rule with a mistake and its correction, including functions that the emulator does not have.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::functions;
use cuda_driver_sys::FUNCTIONS;

const CONTEXT: u64 = 0x7000;
const OWNER: u64 = 0x8000;
const HANDLE: u64 = 0x9000;

/// A sequence of calls, and the mistakes that were found.
#[derive(Default)]
struct Program {
    objects: Objects,
    calls: usize,
    problems: Vec<(Mistake, &'static str)>,
    /// Whether its calls are captured.
    is_captured: bool,
}

impl Program {
    /// A successful call: some arguments by their indices; all others are a small number.
    fn call(&mut self, name: &str, arguments: &[(usize, u64)]) {
        let function = functions::named(name).unwrap();
        self.calls += 1;
        let of = |at: usize| arguments.iter().find(|(number, _)| *number == at).map(|(_, word)| *word);
        let words: Vec<u64> = (0..function.parameters.len()).map(|at| of(at).unwrap_or(1)).collect();
        let received = arguments.iter().copied().filter(|(at, _)| {
            matches!(function.parameters.get(*at).map(|parameter| parameter.ty), Some(Type::Out(_)))
        });
        let received: Vec<_> = received.collect();
        let doing = Doing {
            number: self.calls,
            function,
            words: &words,
            context: CONTEXT,
            is_captured: self.is_captured,
        };
        let (_, problems) = doing.before(&mut self.objects, None);
        self.problems.extend(problems.iter().map(|problem| (problem.mistake, function.name)));
        doing.done(&mut self.objects, &received);
    }

    /// The objects that the program must still release, without references to a primary context.
    fn owed(&self) -> Vec<Kind> {
        let owed = self.objects.live().filter(|(_, object)| object.is_owed());
        owed.map(|(_, object)| object.name.kind()).collect()
    }
}

/// The functions with an effect for which `of` has something.
fn all<T>(of: impl Fn(&Effect) -> Option<T>) -> Vec<(&'static str, T)> {
    let of_one = |info: &cuda_driver_sys::FunctionInfo| {
        let function = functions::named(info.name()).unwrap();
        function.effects.iter().filter_map(&of).map(|found| (function.name, found)).collect::<Vec<_>>()
    };
    FUNCTIONS.iter().flat_map(of_one).collect()
}

/// Functions that create an object that has to be released, with the kind and the argument.
fn makers() -> Vec<(&'static str, (Kind, usize))> {
    all(|effect| match *effect {
        Effect::Makes(kind, at, _) | Effect::Finds(kind, at) | Effect::Shares(kind, at, _) => {
            Some((kind, at))
        }
        _ => None,
    })
}

/// Functions that release such an object; if there is a count, it is one.
fn enders(wanted: Kind) -> Vec<(&'static str, usize)> {
    all(|effect| match *effect {
        Effect::Ends(kind, at) | Effect::EndsRange(kind, at, _) | Effect::Unshares(kind, at, _) => {
            (kind.family() == wanted.family()).then_some(at)
        }
        Effect::EndsContext(at) => (wanted == Kind::Context).then_some(at),
        _ => None,
    })
}

#[test]
fn what_is_made_is_owed_until_it_is_given_back_and_twice_is_a_mistake() {
    let mut pairs = 0;
    for (maker, (kind, at)) in makers() {
        let mut program = Program::default();
        program.call(maker, &[(at, HANDLE)]);
        assert_eq!(program.owed(), [kind], "{maker}");
        for (ender, end) in enders(kind) {
            let mut program = Program::default();
            program.call(maker, &[(at, HANDLE)]);
            program.call(ender, &[(end, HANDLE)]);
            assert_eq!((program.owed(), program.problems.as_slice()), (vec![], &[][..]), "{maker} {ender}");
            program.call(ender, &[(end, HANDLE)]);
            let is_range = ender == "cuMemUnmap";
            let twice = [(Mistake::DoubleFree, ender)];
            assert_eq!(program.problems, if is_range { &[][..] } else { &twice }, "{maker} {ender}");
            pairs += 1;
        }
    }
    assert!(pairs > 60, "{pairs}");
}

/// Every function that takes the handle, for every kind.
#[test]
fn what_is_used_after_its_end_is_a_mistake_in_every_function_that_takes_it() {
    let mut pairs = 0;
    for (maker, (kind, at)) in makers() {
        let Some((ender, end)) = enders(kind).into_iter().next() else { panic!("{maker}") };
        let takes = |function: &functions::Function, at: usize| match function
            .parameters
            .get(at)
            .map(|parameter| parameter.ty)
        {
            Some(Type::Plain(Plain::Handle(taken))) => taken.family() == kind.family(),
            _ => false,
        };
        for info in FUNCTIONS {
            let function = functions::named(info.name()).unwrap();
            for used in function.uses.iter().copied().filter(|used| takes(function, *used)) {
                let mut program = Program::default();
                program.call(maker, &[(at, HANDLE)]);
                program.call(function.name, &[(used, HANDLE)]);
                assert!(program.problems.is_empty(), "{maker} {}", function.name);
                let mut program = Program::default();
                program.call(maker, &[(at, HANDLE)]);
                program.call(ender, &[(end, HANDLE)]);
                program.call(function.name, &[(used, HANDLE)]);
                let dead = (Mistake::DeadHandle, function.name);
                assert!(program.problems.contains(&dead), "{maker} {} {used}", function.name);
                pairs += 1;
            }
        }
    }
    assert!(pairs > 600, "{pairs}");
}

/// A driver reuses freed addresses, also for memory that no call allocates: the variables of a module.
#[test]
fn a_variable_where_memory_was_freed_is_not_that_memory() {
    for is_told in [false, true] {
        let mut program = Program::default();
        program.call("cuMemAlloc_v2", &[(0, HANDLE), (1, 64)]);
        program.call("cuMemFree_v2", &[(0, HANDLE)]);
        if is_told {
            program.call("cuModuleGetGlobal_v2", &[(0, HANDLE + 16)]);
        }
        program.call("cuMemsetD8_v2", &[(0, HANDLE + 16)]);
        let dead = (Mistake::DeadMemory, "cuMemsetD8_v2");
        assert_eq!(program.problems, if is_told { vec![] } else { vec![dead] });
    }
    // It may be where several were, of which it begins in the middle of the first; what is behind it is still freed.
    let mut program = Program::default();
    for start in [HANDLE, HANDLE + 64, HANDLE + 128] {
        program.call("cuMemAlloc_v2", &[(0, start), (1, 64)]);
        program.call("cuMemFree_v2", &[(0, start)]);
    }
    program.call("cuModuleGetGlobal_v2", &[(0, HANDLE + 16), (1, 112)]);
    program.call("cuMemsetD8_v2", &[(0, HANDLE + 16)]);
    program.call("cuMemsetD8_v2", &[(0, HANDLE + 127)]);
    assert_eq!(program.problems, []);
    program.call("cuMemsetD8_v2", &[(0, HANDLE + 128)]);
    assert_eq!(program.problems, [(Mistake::DeadMemory, "cuMemsetD8_v2")]);
    // Live objects are not forgotten.
    let mut program = Program::default();
    program.call("cuMemAlloc_v2", &[(0, HANDLE), (1, 64)]);
    program.call("cuModuleGetGlobal_v2", &[(0, HANDLE)]);
    program.call("cuMemFree_v2", &[(0, HANDLE)]);
    program.call("cuMemsetD8_v2", &[(0, HANDLE)]);
    assert_eq!(program.problems, [(Mistake::DeadMemory, "cuMemsetD8_v2")]);
}

/// The graph allocates and frees it, each time that it is launched: where it is, it may be used before and after that.
#[test]
fn memory_that_is_captured_is_the_graphs() {
    for alloc in ["cuMemAllocAsync", "cuMemAllocFromPoolAsync"] {
        let mut program = Program::default();
        for freed in [HANDLE, HANDLE + 32] {
            program.call("cuMemAlloc_v2", &[(0, freed), (1, 32)]);
            program.call("cuMemFree_v2", &[(0, freed)]);
        }
        program.is_captured = true;
        program.call(alloc, &[(0, HANDLE), (1, 64)]);
        program.call("cuMemsetD8Async", &[(0, HANDLE + 63)]);
        program.call("cuMemFreeAsync", &[(0, HANDLE)]);
        program.is_captured = false;
        // What a launch of another graph has left.
        program.call("cuMemsetD8Async", &[(0, HANDLE)]);
        program.call("cuMemFreeAsync", &[(0, HANDLE)]);
        program.call("cuMemFreeAsync", &[(0, HANDLE)]);
        assert_eq!((program.owed(), program.problems), (vec![], vec![]), "{alloc}");
        assert_eq!(program.objects.counted, 0, "{alloc}");
    }
}

/// An object that belongs to another one is destroyed with it, and is not a leak.
#[test]
fn what_belongs_to_an_object_ends_with_it() {
    let belongings = all(|effect| match *effect {
        Effect::Belongs(kind, at, owner) => Some((kind, at, owner)),
        _ => None,
    });
    assert!(belongings.len() > 20);
    for (function, (kind, at, owner)) in belongings {
        let of_owner = functions::named(function).unwrap().parameters.get(owner).unwrap().ty;
        let Type::Plain(Plain::Handle(of)) = of_owner else { panic!("{function}") };
        let mut program = Program::default();
        program.objects.make(New::of(of, OWNER, None));
        program.call(function, &[(at, HANDLE), (owner, OWNER)]);
        let place = program.objects.find(kind, HANDLE).unwrap();
        let is_live = |program: &Program| program.objects.at(place).is_some_and(Object::is_live);
        assert!(is_live(&program) && !program.owed().contains(&kind), "{function}");
        let owner = program.objects.find(of, OWNER).unwrap();
        program.objects.end(owner, 99);
        assert!(!is_live(&program), "{function}");
    }
}

/// Destroying a context destroys the objects created in it; a reset does so for the primary context.
#[test]
fn contexts_take_their_own_with_them() {
    for (maker, (kind, at)) in makers().into_iter().filter(|(_, (kind, _))| *kind != Kind::PrimaryContext) {
        for reset in [false, true] {
            let mut program = Program::default();
            if reset {
                program.call("cuDevicePrimaryCtxRetain", &[(0, CONTEXT), (1, 0)]);
            } else {
                program.objects.make(New::of(Kind::Context, CONTEXT, None));
            }
            program.call(maker, &[(at, HANDLE)]);
            match reset {
                true => program.call("cuDevicePrimaryCtxReset", &[(0, 0)]),
                false => program.call("cuCtxDestroy", &[(0, CONTEXT)]),
            }
            let is_gone = !program.owed().contains(&kind);
            // That one is not in the current context.
            let ends = kind.ends_with_context() && maker != "cuGreenCtxStreamCreate";
            assert_eq!(is_gone, ends, "{maker} {reset}");
        }
    }
}
