//! The faces of a cube ("Cubemap Textures" in the programming guide): a direction from the centre meets one of them.

use std::ops::Neg;

/// One of the six faces: for each of x, y and z, the positive one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Face {
    /// 0, 1 or 2: the axis that it is upright on.
    axis: usize,
    negative: bool,
}

impl Face {
    /// Its number, which counts as a layer.
    pub(super) fn number(self) -> usize {
        2 * self.axis + usize::from(self.negative)
    }

    /// The coordinates of a direction on it, before the division, and the divisor.
    fn coordinates<T: Copy + Neg<Output = T>>(self, [x, y, z]: [T; 3]) -> ([T; 2], T) {
        match self.number() {
            0 => ([-z, -y], x),
            1 => ([z, -y], -x),
            2 => ([x, z], y),
            3 => ([x, -z], -y),
            4 => ([x, -y], z),
            _ => ([-x, -y], -z),
        }
    }

    /// A direction that has these coordinates.
    fn direction(self, [s, t]: [f64; 2]) -> [f64; 3] {
        match self.number() {
            0 => [1.0, -t, -s],
            1 => [-1.0, -t, s],
            2 => [s, 1.0, t],
            3 => [s, -1.0, -t],
            4 => [s, -t, 1.0],
            _ => [-s, -t, -1.0],
        }
    }
}

/// The face that a direction hits. If components are equal, z precedes y, and x is last; the guide does not specify this.
fn face(direction: [f64; 3]) -> Face {
    let [x, y, z] = direction;
    let (axis, at) = if z.abs() >= x.abs() && z.abs() >= y.abs() {
        (2, z)
    } else if y.abs() >= x.abs() {
        (1, y)
    } else {
        (0, x)
    };
    Face { axis, negative: at.is_sign_negative() }
}

/// The face that a direction hits, and the position on it, from 0 to 1.
pub(super) fn project(direction: [f32; 3]) -> (Face, [f32; 2]) {
    // ptxas divides by the largest coordinate first: it multiplies with `rcp.approx`.
    let largest = direction.iter().fold(0.0_f32, |largest, at| largest.max(at.abs()));
    let direction = direction.map(|at| at * largest.recip());
    let face = face(direction.map(f64::from));
    let (at, by) = face.coordinates(direction);
    (face, at.map(|at| (at / by + 1.0) / 2.0))
}

/// The differences of positions on a face for directions that differ by `gradients`.
pub(super) fn gradients(direction: [f32; 3], gradients: [[f32; 3]; 2]) -> [[f32; 3]; 2] {
    let face = face(direction.map(f64::from));
    let ([s, t], by) = face.coordinates(direction);
    gradients.map(|gradient| {
        let ([ds, dt], change) = face.coordinates(gradient);
        // The quotient's derivative, on a face that is 2 long.
        let along = |at: f32, step: f32| (step * by - at * change) / (by * by) / 2.0;
        [along(s, ds), along(t, dt), 0.0]
    })
}

/// The location of an element that is at most one beyond one edge of a face of `size` times `size`.
pub(super) fn neighbour(face: Face, at: [i64; 2], size: i64) -> (Face, [usize; 2]) {
    if at.iter().all(|at| (0..size).contains(at)) {
        return (face, at.map(|at| at as usize));
    }
    // The middle of the element, as far out as the face would go on, seen from the centre.
    let middle = at.map(|at| (2 * at + 1) as f64 / size as f64 - 1.0);
    let direction = face.direction(middle);
    let beyond = self::face(direction);
    let (there, by) = beyond.coordinates(direction);
    let index = |at: f64| {
        let at = (at / by + 1.0) / 2.0 * size as f64;
        (at.floor() as i64).clamp(0, size - 1) as usize
    };
    (beyond, there.map(index))
}
