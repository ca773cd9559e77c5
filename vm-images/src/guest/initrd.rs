//! The first file system of a guest: the base image, the caller's packages, and an archive with the
//! agent, explode's modules, and the caller's files.

use std::fs::{self, File};
use std::io::{self, BufWriter};

use super::agent::{FOLDER, add_agent};
use super::memory::MemoryFile;
use super::spec::GuestSpec;
use crate::base::{ErrorContext, Result};
use crate::image::cpio::Archive;

/// Writes the archives, one after the other, to a file in memory.
pub(super) fn pack(spec: &GuestSpec) -> Result<MemoryFile> {
    let archive = archive(spec)?;
    let file = MemoryFile::new("initrd").doing("make a file in memory")?;
    let userland = spec.userland.as_ref().map(|userland| &userland.file);
    for archive in [&spec.image].into_iter().chain(userland) {
        let mut image = File::open(archive).at("open", archive)?;
        io::copy(&mut image, &mut file.writer()).at("read", archive)?;
    }
    archive
        .write(&mut BufWriter::with_capacity(1 << 20, file.writer()))
        .doing("pack the agent for the guest")?;
    Ok(file)
}

/// Builds the archive with everything that is not in the base image.
fn archive(spec: &GuestSpec) -> Result<Archive> {
    let mut archive = Archive::default();
    archive.folder(FOLDER);
    let mut loaded = String::new();
    let ours = spec.modules.iter().flat_map(|modules| [&modules.rdd, &modules.ekm]);
    for module in spec.drivers.iter().chain(ours) {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        let path = format!("{FOLDER}/{name}");
        // Two drivers may share a module.
        if !archive.contains(&path) {
            archive.file(&path, 0o644, fs::read(module).at("read", module)?);
            loaded.push_str(&format!("{path}\n"));
        }
    }
    archive.file(&format!("{FOLDER}/modules"), 0o644, loaded.into_bytes());
    if let Some(agent) = &spec.agent {
        add_agent(&mut archive, agent)?;
    }
    for file in &spec.files {
        archive.file(&file.path, file.mode, file.contents.clone());
    }
    Ok(archive)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::guest::Agent;
    use crate::kernel::BuiltKernel;

    #[test]
    fn this_program_is_packed_with_its_loader_libraries_and_arguments() {
        let kernel = BuiltKernel {
            tree: PathBuf::new(),
            boot_image: PathBuf::new(),
            changes: false,
            key: String::new(),
            release: String::new(),
        };
        let mut spec = GuestSpec::new(&kernel, Path::new(""));
        spec.agent = Some(Agent::this_program(["agent", "it's"]));
        let archive = archive(&spec).unwrap();
        for path in ["/agent/explode", "/agent/lib/libc.so.6", "/agent/ld-linux-x86-64.so.2"] {
            assert!(archive.contains(path), "{path}");
        }
        let run = archive.files().find(|data| data.starts_with(b"exec ")).unwrap();
        let run = String::from_utf8_lossy(run);
        assert!(run.ends_with(" '/agent/explode' 'agent' 'it'\\''s'\n"), "{run}");
    }
}
