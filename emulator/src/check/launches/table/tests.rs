use super::super::{Run, Runs, Way};
use super::*;

fn begin(table: &mut Table, past: &mut Past, lane: u64) -> u64 {
    let (name, stream) = (String::new(), String::new());
    table.begin(past, lane, Label { name, stream, graph: None, frees: false })
}

fn end(table: &mut Table, number: u64, runs: &[(u64, Way)]) -> Ended {
    let runs = runs.iter().map(|(start, way)| Run { start: *start, end: start + 4, way: *way, by: 0 });
    let reach = Reach { reads: Runs::default(), writes: Runs::of(runs.collect()) };
    table.end(number, reach, Vec::new(), &|address, _| (address, String::new()))
}

/// A piece of work of a lane that stores.
fn store(table: &mut Table, past: &mut Past, lane: u64, start: u64) -> usize {
    let number = begin(table, past, lane);
    end(table, number, &[(start, Way::Plain)]).findings.len()
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
    table.over(&Past::default());
    table.over(&Past::default());
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
    assert!(end(&mut table, number, &[(1 << 40, Way::Plain)]).is_full);
    let mut other = table.known();
    assert_eq!(store(&mut table, &mut other, 2, 0), 0, "it was forgotten");
    assert_eq!(store(&mut table, &mut other, 2, 2 * MOST_WORK as u64), 1);
}

#[test]
fn a_race_waits_for_a_kernel_that_may_lead_from_one_to_the_other() {
    let mut table = Table::default();
    let mut pasts = [table.submit(), table.submit(), table.submit()];
    let [one, other, between] = [0, 1, 2].map(|at| begin(&mut table, &mut pasts[at], at as u64));
    let (flag, next, data) = ((0, Way::Flag), (8, Way::Flag), (16, Way::Plain));
    assert_eq!(end(&mut table, one, &[flag, data]).findings, []);
    assert_eq!(end(&mut table, other, &[next, data]).findings, [], "not yet");
    assert_eq!(end(&mut table, between, &[flag, next]).findings, []);
    // Without it they race.
    let [one, other, between] = [0, 1, 2].map(|at| begin(&mut table, &mut pasts[at], at as u64));
    end(&mut table, one, &[(24, Way::Plain)]);
    end(&mut table, other, &[(24, Way::Plain)]);
    assert_eq!(end(&mut table, between, &[]).findings.len(), 1);
}

#[test]
fn what_the_host_knows_is_known_of_what_has_synchronised_with_it() {
    let mut table = Table::default();
    let mut pasts = [table.submit(), table.submit()];
    let [sender, receiver] = [0, 1].map(|at| begin(&mut table, &mut pasts[at], at as u64));
    end(&mut table, receiver, &[(0, Way::Flag)]);
    table.learn(&pasts[1]);
    let mut later = table.submit();
    end(&mut table, sender, &[(0, Way::Flag), (8, Way::Plain)]);
    assert_eq!(store(&mut table, &mut later, 3, 8), 0);
}
