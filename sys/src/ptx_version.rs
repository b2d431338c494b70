//! Which driver reads which PTX.

/// The drivers that brought versions of PTX, and the newest version that each reads.
const VERSIONS: &[(u32, (u32, u32))] = &[
    (11_000, (7, 0)),
    (11_010, (7, 1)),
    (11_020, (7, 2)),
    (11_030, (7, 3)),
    (11_040, (7, 4)),
    (11_050, (7, 5)),
    (11_060, (7, 6)),
    (11_070, (7, 7)),
    (11_080, (7, 8)),
    (12_000, (8, 0)),
    (12_010, (8, 1)),
    (12_020, (8, 2)),
    (12_030, (8, 3)),
    (12_040, (8, 4)),
    (12_050, (8, 5)),
    (12_070, (8, 6)),
    (12_080, (8, 7)),
    (12_090, (8, 8)),
    (13_000, (9, 0)),
];

/// The newest version of PTX, major and minor, that a driver reads whose `cuDriverGetVersion` returns `driver`; the driver refuses later ones with
/// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`. `None` before CUDA 11.0 and after 13.0.
///
/// ```
/// use cuda_driver_sys::newest_ptx;
///
/// assert_eq!(newest_ptx(12_060), Some((8, 5)));
/// assert_eq!(newest_ptx(13_000), Some((9, 0)));
/// assert_eq!(newest_ptx(14_000), None);
/// ```
pub fn newest_ptx(driver: u32) -> Option<(u32, u32)> {
    let (last, _) = *VERSIONS.last()?;
    let known = VERSIONS.iter().rev().find(|(since, _)| *since <= driver)?;
    (driver <= last).then_some(known.1)
}

#[cfg(test)]
mod tests {
    use super::{VERSIONS, newest_ptx};

    #[test]
    fn each_driver_reads_what_its_toolkit_writes() {
        assert!(VERSIONS.is_sorted() && VERSIONS.is_sorted_by_key(|(_, version)| version));
        let known = [10_020, 11_020, 11_080, 12_060, 12_090, 13_000, 13_010].map(newest_ptx);
        assert_eq!(known, [None, Some((7, 2)), Some((7, 8)), Some((8, 5)), Some((8, 8)), Some((9, 0)), None]);
    }
}
