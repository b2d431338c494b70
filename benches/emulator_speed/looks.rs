//! What it costs to look at kernels.

use crate::case::Case;
use crate::cases;
use cuda_emulator::check::Checker;
use cuda_emulator::memory::Memory;
use cuda_emulator::schedule::Scheduler;
use cuda_emulator::{Checks, Schedules};
use std::sync::Arc;

/// Runs of which the best counts.
const RUNS: usize = 3;
/// Orders of the two runs whose difference is that of so many orders.
const ORDERS: [u32; 2] = [1, 5];

fn memory(checks: Option<Checks>) -> Memory {
    Memory::checked(1 << 30, checks.map(|checks| Arc::new(Checker::new(checks))))
}

/// Seconds that a processor is at it.
fn seconds(case: &Case) -> f64 {
    case.run(1, RUNS).0.processor.as_secs_f64()
}

/// Prints a row for each kernel of that name.
pub(crate) fn measure(name: &str) {
    println!("{:<18} {:>10} {:>8} {:>8} {:>11}", "", "plain, ms", "profile", "check", "each order");
    let named = |case: &Case| case.name.contains(name);
    let under = |memory: &dyn Fn() -> Memory| {
        let cases = cases::all(true).into_iter().filter(named);
        cases.map(|case| seconds(&case.looked_at(memory()))).collect::<Vec<_>>()
    };
    let plain = under(&|| memory(None));
    let profile = under(&|| memory(None).with_profiler(Arc::default()));
    let check = under(&|| memory(Some(Checks::KERNELS)));
    let [few, more] = ORDERS.map(|orders| {
        under(&|| memory(None).with_scheduler(Arc::new(Scheduler::new(Schedules::new(orders)))))
    });
    let each = f64::from(ORDERS[1] - ORDERS[0]);
    for (index, case) in cases::all(true).into_iter().filter(named).enumerate() {
        println!(
            "{:<18} {:>10.2} {:>8.0} {:>8.0} {:>11.0}",
            case.name,
            1e3 * plain[index],
            profile[index] / plain[index],
            check[index] / plain[index],
            (more[index] - few[index]) / each / plain[index],
        );
    }
}
