//! Checkers that begin on a tree of the abstract file system.

use explode_ramdisk::files::{Files, WriteMethod};
use explode_runtime::check::Checker;
use explode_runtime::verdict::CheckError;

use super::model::Abstract;
use super::start::Start;
use super::started::FromFiles;
use super::topology::{Limits, TopologyCall};

/// A checker that can begin on a tree that is made and synced.
pub(in crate::fs) trait FromTree: Checker + Clone {
    /// Returns the tree.
    fn tree(&self) -> &Abstract;

    /// Returns the limits of the tree.
    fn limits_mut(&mut self) -> &mut Limits;

    /// Returns true if the system promises that what was synced by sync(2) is durable.
    fn promises_sync(&self) -> bool;

    /// Returns the number of writes so far, which decides the bytes of the next one.
    fn writes_mut(&mut self) -> &mut u32;

    /// Notes a call of the tree that has succeeded and has written these bytes.
    fn made(&mut self, call: &TopologyCall, bytes: &[u8]);

    /// Notes that the whole tree of this start is durable.
    fn committed(&mut self, start: Start);
}

impl<C: FromTree> FromFiles for C {
    fn starts(&self) -> Vec<Start> {
        Start::ALL.into_iter().filter(|start| !start.is_open()).collect()
    }

    fn promises_sync(&self) -> bool {
        FromTree::promises_sync(self)
    }

    fn begin(&mut self, start: Start, files: &dyn Files) -> Result<(), CheckError> {
        let calls = self.limits_mut().calls;
        for call in start.calls(calls) {
            make(self, &call, files)?;
        }
        files.sync().map_err(|errno| CheckError::broken(format!("sync: {errno}")))?;
        self.committed(start);
        // The checker may make as many more nodes as without a tree.
        let tree = self.tree();
        let (all, is_directory) = (tree.paths(), |id| tree.is_directory(id));
        let dirs = all.iter().filter(|(_, id)| is_directory(*id)).count();
        let files = all.len() - dirs;
        let limits = self.limits_mut();
        limits.dirs += dirs;
        limits.files += files;
        Ok(())
    }
}

/// Makes a call of the tree.
fn make(
    checker: &mut impl FromTree,
    call: &TopologyCall,
    files: &dyn Files,
) -> Result<(), CheckError> {
    *checker.writes_mut() += u32::from(call.writes());
    let writes = *checker.writes_mut();
    let bytes = call.bytes(checker.tree(), writes);
    match call.make(files, &bytes, WriteMethod::Plain) {
        Ok(()) => checker.made(call, &bytes),
        // The tree of a file system without links lacks the second name.
        Err(errno) if call.is_refused(errno) => {}
        Err(errno) => return Err(CheckError::broken(format!("{}: {errno}", call.name()))),
    }
    Ok(())
}
