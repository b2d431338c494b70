use super::super::held::MOST_PAIRS;
use super::super::{AccessKind, Run, Runs};
use super::*;

fn begin(table: &mut Table, past: &mut VectorClock, lane: u64) -> u64 {
    let (name, stream) = (String::new(), String::new());
    table.begin(past, lane, Label { name, stream, graph: None, is_by_kernel: false, frees: Frees::Nothing })
}

fn end(table: &mut Table, number: u64, runs: &[(u64, AccessKind)]) -> Ended {
    let runs = runs.iter().map(|(start, kind)| Run { start: *start, end: start + 4, kind: *kind, by: 0 });
    let reach = Reach { reads: Runs::default(), writes: Runs::of(runs.collect()) };
    table.end(number, reach, Vec::new(), &|address, _| (address, String::new()))
}

/// A piece of work of a lane that stores.
fn store(table: &mut Table, past: &mut VectorClock, lane: u64, start: u64) -> usize {
    let number = begin(table, past, lane);
    end(table, number, &[(start, AccessKind::Plain)]).findings.len()
}

#[test]
fn what_nothing_can_race_with_is_forgotten() {
    let mut table = Table::default();
    let (mut one, mut other) = (table.submit(), table.submit());
    for _ in 0..100 {
        assert_eq!(store(&mut table, &mut one, 1, 0), 0);
    }
    assert_eq!(table.work.len(), 1, "the last one stands for all of them");
    assert_eq!(store(&mut table, &mut other, 2, 0), 1);
    table.learn(&one);
    assert_eq!(table.work.len(), 2, "what was submitted before may race with it");
    table.over(&VectorClock::default());
    table.over(&VectorClock::default());
    table.learn(&other);
    assert!(table.work.is_empty() && table.lanes.is_empty());
}

#[test]
fn the_oldest_are_forgotten_where_there_are_too_many() {
    let mut table = Table::default();
    let mut past = table.submit();
    for index in 0..MOST_WORK as u64 {
        assert_eq!(store(&mut table, &mut past, 1, 4 * index), 0);
    }
    let number = begin(&mut table, &mut past, 1);
    assert!(end(&mut table, number, &[(1 << 40, AccessKind::Plain)]).is_full);
    let mut other = table.known();
    assert_eq!(store(&mut table, &mut other, 2, 0), 0, "it was forgotten");
    assert_eq!(store(&mut table, &mut other, 2, 2 * MOST_WORK as u64), 1);
}

#[test]
fn a_race_waits_for_a_kernel_that_may_lead_from_one_to_the_other() {
    let mut table = Table::default();
    let mut pasts = [table.submit(), table.submit(), table.submit()];
    let [one, other, between] = [0, 1, 2].map(|at| begin(&mut table, &mut pasts[at], at as u64));
    let (flag, next, data) = ((0, AccessKind::Flag), (8, AccessKind::Flag), (16, AccessKind::Plain));
    assert_eq!(end(&mut table, one, &[flag, data]).findings, []);
    assert_eq!(end(&mut table, other, &[next, data]).findings, [], "not yet");
    assert_eq!(end(&mut table, between, &[flag, next]).findings, []);
    // Without it they race.
    let [one, other, between] = [0, 1, 2].map(|at| begin(&mut table, &mut pasts[at], at as u64));
    end(&mut table, one, &[(24, AccessKind::Plain)]);
    end(&mut table, other, &[(24, AccessKind::Plain)]);
    assert_eq!(end(&mut table, between, &[]).findings.len(), 1);
}

#[test]
fn what_the_host_knows_is_known_of_what_has_synchronised_with_it() {
    let mut table = Table::default();
    let mut pasts = [table.submit(), table.submit()];
    let [sender, receiver] = [0, 1].map(|at| begin(&mut table, &mut pasts[at], at as u64));
    end(&mut table, receiver, &[(0, AccessKind::Flag)]);
    table.learn(&pasts[1]);
    let mut later = table.submit();
    end(&mut table, sender, &[(0, AccessKind::Flag), (8, AccessKind::Plain)]);
    assert_eq!(store(&mut table, &mut later, 3, 8), 0);
}

#[test]
fn races_are_held_in_bounds() {
    let mut table = Table::default();
    let mut pasts = [table.submit(), table.submit(), table.submit()];
    let long = begin(&mut table, &mut pasts[2], 3);
    let mut is_full = false;
    for index in 0..2 * MOST_PAIRS {
        let number = begin(&mut table, &mut pasts[index % 2], index as u64 % 2);
        let ended = end(&mut table, number, &[(0, AccessKind::Plain)]);
        assert_eq!(ended.findings, [], "not yet");
        is_full |= ended.is_full;
    }
    assert!(is_full, "there were too many");
    let findings = end(&mut table, long, &[]).findings;
    assert_eq!(findings.len(), 1, "one place");
    assert!((1..=MOST_PAIRS as u64).contains(&findings[0].times), "{}", findings[0].times);
    assert!(table.held.is_empty());
    // Places are bounded, too.
    let long = begin(&mut table, &mut pasts[2], 3);
    let mut many = |lane: usize| {
        let runs: Vec<_> = (0..1000).map(|at| (8 * at, AccessKind::Plain)).collect();
        let number = begin(&mut table, &mut pasts[lane], lane as u64);
        let actors = (0..1000).map(|line| Actor { ptx_line: line, ..Actor::of_call("write") }).collect();
        let run = |(by, (start, kind)): (usize, &(u64, AccessKind))| Run {
            start: *start,
            end: start + 4,
            kind: *kind,
            by: by as u32,
        };
        let writes = Runs::of(runs.iter().enumerate().map(run).collect());
        let reach = Reach { reads: Runs::default(), writes };
        table.end(number, reach, actors, &|address, _| (address, String::new())).is_full
    };
    assert!([many(0), many(1)].contains(&true));
    let count = end(&mut table, long, &[]).findings.len();
    assert!((1..1000).contains(&count), "{count}");
}

#[test]
fn nothing_is_reported_that_may_be_ordered_by_what_was_forgotten() {
    let mut table = Table::default();
    let mut pasts = [(); 5].map(|()| table.submit());
    let [between, one, other, long] = [0, 1, 2, 3].map(|at| begin(&mut table, &mut pasts[at], at as u64));
    let (flag, next, data) = ((0, AccessKind::Flag), (8, AccessKind::Flag), (16, AccessKind::Plain));
    for (number, runs) in [(one, [flag, data]), (between, [flag, next]), (other, [next, data])] {
        assert_eq!(end(&mut table, number, &runs).findings, []);
    }
    let mut index = 8;
    while table.work.contains_key(&between) {
        store(&mut table, &mut pasts[4], 4, 8 * index);
        index += 1;
    }
    assert!(table.work.contains_key(&one) && table.work.contains_key(&other));
    let ended = end(&mut table, long, &[]);
    assert!(ended.findings.is_empty() && ended.is_full, "{:?}", ended.findings);
    // What began since then is not concerned.
    let mut pasts = [table.submit(), table.submit()];
    assert_eq!([0, 1].map(|at| store(&mut table, &mut pasts[at], 10 + at as u64, 4)), [0, 1]);
}

#[test]
fn a_kernel_without_accesses_passes_on_what_it_does_not_wait_for() {
    for waits in [false, true] {
        let mut table = Table::default();
        let mut past = table.submit();
        let first = begin(&mut table, &mut past, 1);
        table.depend(first, true, false);
        end(&mut table, first, &[(0, AccessKind::Plain)]);
        let second = begin(&mut table, &mut past, 1);
        table.begin_early(second, first);
        table.depend(second, true, waits);
        end(&mut table, second, &[]);
        let third = begin(&mut table, &mut past, 1);
        table.over(&VectorClock::default());
        table.begin_early(third, second);
        assert_eq!(end(&mut table, third, &[(0, AccessKind::Plain)]).findings.len(), usize::from(!waits));
        assert!(!table.work.contains_key(&second), "it is of no more use");
    }
}

#[test]
fn a_free_races_with_what_began_before_it_alone() {
    for begins_before in [true, false] {
        let mut table = Table::default();
        let (mut one, mut other) = (table.submit(), table.submit());
        // While it runs, the free is remembered.
        begin(&mut table, &mut VectorClock::default(), 3);
        let early = begins_before.then(|| begin(&mut table, &mut other, 2));
        let label = Label {
            name: String::new(),
            stream: String::new(),
            graph: None,
            is_by_kernel: false,
            frees: Frees::Allocation,
        };
        let free = table.begin(&mut one, 1, label);
        let number = early.unwrap_or_else(|| begin(&mut table, &mut other, 2));
        end(&mut table, free, &[(0, AccessKind::Plain)]);
        end(&mut table, number, &[(0, AccessKind::Plain)]);
        let held = !table.held.is_empty();
        assert_eq!(held, begins_before, "what begins later has another allocation there");
    }
}
