//! Takes the sources of the kernel modules into the library, so that explode needs nothing but its
//! own binary.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders and files below the workspace that the modules are made of.
const PARTS: [&str; 4] =
    ["ramdisk/kmod", "ekm-kmod", "ekm-kmod/abi/src/wire.rs", "ekm-kmod/abi/src/wire"];

fn main() -> io::Result<()> {
    let workspace = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("..");
    let workspace = workspace.canonicalize()?;
    let mut files = Vec::new();
    for part in PARTS {
        let path = workspace.join(part);
        println!("cargo:rerun-if-changed={}", path.display());
        if path.is_dir() {
            collect(&path, &mut files)?;
        } else if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    let mut code = String::from("pub(crate) static SOURCES: &[(&str, &[u8])] = &[\n");
    for file in &files {
        let name = file.strip_prefix(&workspace).expect("below the workspace");
        writeln!(code, "    ({name:?}, include_bytes!({file:?})),").expect("a string takes it");
    }
    code.push_str("];\n");
    fs::write(PathBuf::from(env::var("OUT_DIR").expect("set by cargo")).join("sources.rs"), code)
}

/// All sources in a folder, without what a build in place leaves there and without the user-space
/// crate.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or(".");
        let left_over = name.starts_with('.')
            || [
                ".o",
                ".ko",
                ".mod",
                ".mod.c",
                ".cmd",
                ".order",
                ".symvers",
                "_gen.rs",
                "_generated.rs",
                ".md",
            ]
            .iter()
            .any(|end| name.ends_with(end));
        if left_over || name == "abi" || name == "target" {
            continue;
        }
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
