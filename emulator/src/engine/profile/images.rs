//! Textures and surfaces: the bytes of elements that one instruction accesses, lane by lane.

use super::Profile;

/// What elements are accessed through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Image {
    Texture,
    Surface,
}

impl Profile {
    /// A lane accesses elements of so many bytes in all.
    pub(in crate::engine) fn elements(&mut self, image: Image, bytes: u64) {
        let (_, sum) = self.elements.get_or_insert((image, 0));
        *sum += bytes;
    }

    /// The instruction has run.
    pub(super) fn end_elements(&mut self, place: (usize, usize)) {
        let Some((image, bytes)) = self.elements.take() else { return };
        let Some(counts) = self.counts(place) else { return };
        let (requests, sum) = match image {
            Image::Texture => (&mut counts.texture_requests, &mut counts.texture_bytes),
            Image::Surface => (&mut counts.surface_requests, &mut counts.surface_bytes),
        };
        *requests += 1;
        *sum += bytes;
    }
}
