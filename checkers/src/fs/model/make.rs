//! Makes the calls of a step.

use explode_ramdisk::files::{Files, FsCall, Session};
use explode_runtime::verdict::CheckError;

/// Makes calls on files in a session, and gives each that has succeeded to `follow`.
///
/// # Errors
/// "Broken" for a call that fails: the model knows which ones can succeed, so an error says nothing
/// of promises (no space, say). A sync that fails has promised nothing, and the step goes on.
pub fn make(
    calls: &[FsCall],
    files: &dyn Files,
    mut follow: impl FnMut(&FsCall),
) -> Result<(), CheckError> {
    let mut session = Session::new(files);
    for call in calls {
        match session.make(call) {
            Ok(()) => follow(call),
            Err(_) if call.is_sync() => {}
            Err(errno) => return Err(CheckError::broken(format!("{call}: {errno}"))),
        }
    }
    Ok(())
}
