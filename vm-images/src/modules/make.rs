//! Runs the kernel's make on the modules of one folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::base::{ErrorContext, Result};
use crate::cache::Building;
use crate::kernel::{self, BuiltKernel};
use crate::tools::Tools;

/// The approximate number of lines that make prints for both of explode's modules.
const MAKE_LINES: u64 = 20;

/// Builds the modules of a folder outside the kernel's tree, without writing into the tree.
/// `symbols` are the symbol tables of modules that were built before, without those in the tree.
pub(crate) fn make(
    building: &Building<'_>,
    tools: &Tools,
    kernel: &BuiltKernel,
    folder: &Path,
    symbols: &[PathBuf],
    targets: &[&str],
) -> Result<()> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut make = tools.make();
    make.arg("-C")
        .arg(&kernel.tree)
        .arg(format!("M={}", folder.display()))
        .arg(format!("KBUILD_EXTRA_SYMBOLS={}", tables(&kernel.tree, symbols)))
        .arg(format!("-j{jobs}"));
    if has(&kernel.tree, "CONFIG_CC_IS_CLANG=y")? {
        make.arg("LLVM=1");
    }
    if targets.is_empty() {
        make.arg("modules")
    } else {
        make.args(targets)
    };
    building.run_lines(&mut make, MAKE_LINES)
}

/// Returns true if the tree's configuration has this line.
fn has(tree: &Path, line: &str) -> Result<bool> {
    let path = tree.join(".config");
    Ok(fs::read_to_string(&path).at("read", &path)?.lines().any(|present| present == line))
}

/// Returns the symbol tables that make does not find by itself. A tree whose own modules are built
/// has a table of all its symbols, which make finds. A symbol that is listed twice would be an
/// error.
fn tables(tree: &Path, built: &[PathBuf]) -> String {
    let own = (!tree.join("Module.symvers").exists()).then(|| kernel::symbols(tree));
    let tables: Vec<_> = own.iter().chain(built).map(|path| path.display().to_string()).collect();
    tables.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_symbol_is_named_twice() {
        let tree = tempfile::tempdir().expect("a temporary folder");
        let built = [PathBuf::from("rdd/Module.symvers")];
        let own = tree.path().join("vmlinux.symvers");
        assert_eq!(tables(tree.path(), &built), format!("{} rdd/Module.symvers", own.display()));
        fs::write(tree.path().join("Module.symvers"), "").expect("it is ours");
        assert_eq!(tables(tree.path(), &built), "rdd/Module.symvers");
    }
}
