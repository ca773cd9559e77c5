//! Makes the calls of a step.

use explode_ramdisk::files::{Files, FsCall, Session};
use explode_runtime::verdict::CheckError;

/// Makes calls on files in a session, and passes each call that succeeds to `follow`. A sync that
/// fails promises nothing, and the step continues.
///
/// # Errors
/// Returns "broken" if another call fails. The model knows which calls can succeed, so the error
/// does not concern a promise (for example, the device is full).
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
