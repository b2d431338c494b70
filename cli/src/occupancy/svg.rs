//! The plots as a picture.

use super::Answer;
use crate::markup::{colour, label};
use cuda_emulator::architecture::{Fit, Limiter};

/// The frame of one plot: left edge, width, height.
const LEFT: f64 = 60.0;
const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 160.0;

pub(super) fn draw(answer: &Answer) -> String {
    let Answer { kernel, origin, machine, shared, block, by_block, by_shared, .. } = answer;
    let blocks: Vec<Bar> =
        by_block.iter().map(|(x, fit)| Bar { x: *x, fit: *fit, part: machine.occupancy(fit, *x) }).collect();
    let bytes: Vec<Bar> = by_shared
        .iter()
        .map(|(x, fit)| Bar { x: *x, fit: *fit, part: machine.occupancy(fit, *block) })
        .collect();
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 540\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"720\" height=\"540\" fill=\"white\"/>\n",
    );
    svg += &label(LEFT, 24.0, "start", &format!("Occupancy of {kernel} on {origin}"));
    svg += &plot(60.0, &blocks, &format!("threads per block ({shared} bytes of dynamic shared memory)"));
    svg += &plot(300.0, &bytes, &format!("bytes of dynamic shared memory ({block} threads per block)"));
    for (index, limiter) in
        [Limiter::Threads, Limiter::Blocks, Limiter::Registers, Limiter::Shared].into_iter().enumerate()
    {
        let x = LEFT + index as f64 * 155.0;
        svg +=
            &format!("<rect x=\"{x}\" y=\"510\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", fill(limiter));
        svg += &label(x + 18.0, 521.0, "start", &format!("limited by {}", limiter.name()));
    }
    svg + "</svg>\n"
}

struct Bar {
    x: u32,
    fit: Fit,
    part: f64,
}

fn fill(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Threads => colour::GREEN,
        Limiter::Blocks => colour::SKY,
        Limiter::Registers => colour::VERMILION,
        Limiter::Shared => colour::ORANGE,
    }
}

fn plot(top: f64, bars: &[Bar], axis: &str) -> String {
    let mut svg = String::new();
    for percent in [0, 25, 50, 75, 100] {
        let y = top + HEIGHT * (1.0 - f64::from(percent) / 100.0);
        let right = LEFT + WIDTH;
        svg += &format!("<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y}\" y2=\"{y}\" stroke=\"#ddd\"/>\n");
        svg += &label(LEFT - 6.0, y + 4.0, "end", &format!("{percent} %"));
    }
    let slot = WIDTH / bars.len().max(1) as f64;
    let every = bars.len().div_ceil(8).max(1);
    for (index, bar) in bars.iter().enumerate() {
        let (x, height) = (LEFT + index as f64 * slot, HEIGHT * bar.part);
        let (y, width, fill) = (top + HEIGHT - height, slot * 0.85, fill(bar.fit.limiter));
        let title = format!(
            "{}: {} blocks, {:.0} %, {}",
            bar.x,
            bar.fit.blocks,
            bar.part * 100.0,
            bar.fit.limiter.name()
        );
        svg += &format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"><title>{title}</title></rect>\n"
        );
        if index.is_multiple_of(every) {
            svg += &label(x + width / 2.0, top + HEIGHT + 16.0, "middle", &bar.x.to_string());
        }
    }
    svg + &label(LEFT + WIDTH / 2.0, top + HEIGHT + 36.0, "middle", axis)
}
