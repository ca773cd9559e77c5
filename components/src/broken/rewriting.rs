//! Files that each write truncates and then writes again as a whole. In between they are empty. A
//! crash shows that only if something else has written the empty file to the disk.

use std::rc::Rc;

use explode_ramdisk::files::{Fd, Files, Result};
use explode_runtime::base::{OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{Below, Component, ComponentDef, Surface};

use crate::forward::forward;

/// The name in the registry.
pub const NAME: &str = "rewriting";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::new(
        NAME,
        "the files below it, each cut and written again as a whole at each write",
        build,
    )
    .on("simfiles")
    .options([OptionDef {
        name: "cuts",
        about: "truncate a file before it is rewritten: true, false",
        default: "false",
    }])
}

struct Rewriting {
    cuts: bool,
    files: Option<Rc<dyn Files>>,
}

fn build(options: &Options) -> std::result::Result<Box<dyn Component>, UsageError> {
    Ok(Box::new(Rewriting { cuts: options.bool("cuts", false)?, files: None }))
}

impl Component for Rewriting {
    fn mount(&mut self, below: &Below<'_>) -> std::result::Result<(), StepError> {
        self.files = Some(Rc::new(Rewriter { cuts: self.cuts, files: below.files()? }));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> std::result::Result<(), StepError> {
        self.files = None;
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.files.clone().map_or(Surface::Child, Surface::Files)
    }
}

struct Rewriter {
    cuts: bool,
    files: Rc<dyn Files>,
}

impl Files for Rewriter {
    forward!(open close pread ftruncate fstat fsync fdatasync stat readdir mkdir rmdir link
        unlink rename sync_dir sync sync_machine read_file);

    fn pwrite(&self, fd: Fd, offset: u64, data: &[u8]) -> Result<()> {
        let size = self.files.fstat(fd)?.size as usize;
        if !self.cuts || size == 0 {
            return self.files.pwrite(fd, offset, data);
        }
        let (begin, end) = (offset as usize, offset as usize + data.len());
        let mut all = vec![0; size.max(end)];
        self.files.pread(fd, 0, &mut all[..size])?;
        all[begin..end].copy_from_slice(data);
        self.files.ftruncate(fd, 0)?;
        self.files.pwrite(fd, 0, &all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::tests::refused;

    /// Asserts that these files refuse the calls that they do not implement. `sync_machine` is not
    /// refused.
    #[test]
    fn no_call_arrives_as_another() {
        let refused = refused(|files| Box::new(Rewriter { cuts: false, files }));
        let without = "can open_directory syncfs open_synced open_flagged write_mapped symlink \
                       readlink chmod mode setxattr removexattr xattrs rename_with \
                       open_unnamed link_open fallocate clone_file copy_range";
        assert_eq!(refused, without.split_whitespace().collect::<Vec<_>>());
    }
}
