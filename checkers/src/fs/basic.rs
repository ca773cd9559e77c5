//! The paper's Figure 2: a synced file is there, whatever happens around it (EX-23).
//!
//! mutate makes one of five directories, removes one of five, removes the file, or writes "test" to
//! the file and syncs it in one of two ways: 5 + 5 + 1 + 2 = 13 children of each state.

use std::collections::BTreeSet;

use explode_ramdisk::files::{Files, OpenFlags};
use explode_runtime::check::{
    Checker, CheckerAbilities, CheckerDef, CheckerFacts, Cx, Demands, Unsupported,
};
use explode_runtime::crash::Epoch;
use explode_runtime::stack::Stack;
use explode_runtime::verdict::{CheckError, FileContents, ShellDemand, Verdict, Violation};

use super::start::Start;
use super::started::{FromFiles, START_OF_STEPS, Started};

/// The name in the registry.
pub const NAME: &str = "fs-basic";

/// The definition for the registry.
pub fn def() -> CheckerDef {
    CheckerDef::new(
        NAME,
        "a file that was synced is there with its contents (the paper's Figure 2)",
        |options| Ok(Box::new(Started::new(NAME, Basic::default(), options)?)),
    )
    .options([START_OF_STEPS])
}

const FILE: &str = "/test-file";
const CONTENTS: &[u8] = b"test";

/// The names that are there. There is no signature, because unsynced changes are part of the state
/// as well.
#[derive(Clone, Default)]
struct Basic {
    directories: BTreeSet<usize>,
    file: bool,
}

impl Checker for Basic {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let files = cx.stack().files()?;
        match cx.choose_named(NAME, 4) {
            0 => {
                let n = cx.choose_named("fs-basic mkdir", 5);
                if self.directories.insert(n) {
                    files.mkdir(&format!("/dir{n}"))?;
                }
            }
            1 => {
                let n = cx.choose_named("fs-basic rmdir", 5);
                if self.directories.remove(&n) {
                    files.rmdir(&format!("/dir{n}"))?;
                }
            }
            2 => {
                if std::mem::take(&mut self.file) {
                    files.unlink(FILE)?;
                }
            }
            _ => {
                write(files.as_ref(), cx.choose_named("fs-basic sync", 2) == 0)?;
                self.file = true;
                cx.check_crashes_now(self, &[])?;
            }
        }
        Ok(())
    }

    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let lost = |message: String| Violation::new(Verdict::Lost, "synced-file", message);
        match stack.files()?.read_file(FILE) {
            Ok(found) if found == CONTENTS => Ok(()),
            Ok(found) if found.is_empty() => {
                Err(lost(format!("{FILE} was synced, and is empty")).into())
            }
            Ok(found) => {
                let message = format!("{FILE} holds {:?}, not {:?}", text(&found), text(CONTENTS));
                Err(Violation::new(Verdict::Corrupt, "synced-file", message).into())
            }
            Err(errno) => {
                Err(lost(format!("{FILE} was synced, and cannot be read: {errno}")).into())
            }
        }
    }

    fn check_key(&self) -> Option<Vec<u8>> {
        Some(Vec::new())
    }

    fn fork(&self) -> Option<Box<dyn Checker>> {
        Some(Box::new(self.clone()))
    }

    fn facts(&self, stack: &Stack) -> Result<CheckerFacts, Unsupported> {
        stack.files()?;
        Ok(CheckerFacts::default())
    }

    fn abilities(&self) -> CheckerAbilities<'_> {
        CheckerAbilities::default().demands(self)
    }
}

impl FromFiles for Basic {
    /// Makes one directory and the file.
    fn begin(&mut self, _start: Start, files: &dyn Files) -> Result<(), CheckError> {
        files.mkdir("/dir0")?;
        self.directories.insert(0);
        write(files, true)?;
        self.file = true;
        Ok(())
    }
}

impl Demands for Basic {
    fn demands(
        &self,
        _epoch: Epoch,
        _args: &[String],
        _violation: &Violation,
    ) -> Option<Vec<ShellDemand>> {
        Some(vec![ShellDemand::File(FILE.to_owned(), vec![FileContents::exactly(CONTENTS)])])
    }
}

/// Writes the file and syncs it. With `everything` the whole file system is synced, otherwise the
/// file and its directory.
fn write(files: &dyn Files, everything: bool) -> Result<(), CheckError> {
    let fd = files.open(FILE, OpenFlags::CREATE)?;
    files.pwrite(fd, 0, CONTENTS)?;
    if everything {
        files.sync()?;
    } else {
        files.fsync(fd)?;
        files.sync_dir("/")?;
    }
    Ok(files.close(fd)?)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
