//! The sources of explode's two kernel modules, as data.
//!
//! The build of a guest writes them into a folder and compiles them for its kernel, so explode
//! needs no checkout of its sources. Names are paths below that folder.
//!
//! # Rooms, bottom first
//!
//! - `ekm`: the sources of EKM

mod ekm;

use explode_ekm_abi::source::WIRE;
use explode_ramdisk::kmod::RDD;

use ekm::EKM;

pub use ekm::ModuleSource;

/// Returns the sources of both modules, in the order of their names.
pub fn sources() -> Vec<ModuleSource> {
    let mut sources = [EKM, WIRE, RDD].concat();
    sources.sort_unstable();
    sources
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Returns the files of a folder below the workspace that the build of a module needs.
    fn listed(folder: &str) -> BTreeSet<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
        let files = names.filter(|entry| entry.file_type().unwrap().is_file());
        let names = files.map(|entry| entry.file_name().into_string().unwrap());
        let built = |name: &String| {
            let ends =
                [".o", ".ko", ".mod", ".mod.c", ".cmd", ".order", ".symvers", "_generated.rs"];
            name.starts_with('.')
                || name == "Cargo.toml"
                || ends.iter().any(|end| name.ends_with(end))
        };
        names.filter(|name| !built(name)).map(|name| format!("{folder}/{name}")).collect()
    }

    #[test]
    fn every_file_of_the_modules_is_a_source() {
        let folders = [
            "ekm-kmod",
            "ekm-kmod/common",
            "ekm-kmod/include",
            "ekm-kmod/abi/src/wire",
            "ramdisk/kmod",
        ]
        .map(listed);
        let mut files: BTreeSet<String> = folders.into_iter().flatten().collect();
        files.insert("ekm-kmod/abi/src/wire.rs".to_owned());
        let sources: BTreeSet<String> =
            sources().into_iter().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(sources, files);
    }
}
