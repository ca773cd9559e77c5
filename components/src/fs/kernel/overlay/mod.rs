//! overlay on the files below it: a lower folder with nothing or a few files in it, an upper one that takes every change, and the folder in which
//! overlay prepares them. A sync of a file, of a directory or of all goes through to the file system of the upper folder (kernel,
//! filesystems/overlayfs.rst); what that recovers is all that there is to recover.

mod folders;
mod layer;
mod lower;

use explode_runtime::recover::Component;
use explode_runtime::run::{ComponentDef, OptionDef, Options, UsageError};

use super::MODES;
use super::common::{Common, options};
use layer::Overlay;

/// As it stands in the registry.
pub const DEF: ComponentDef = ComponentDef {
    name: "overlay",
    about: "overlay on folders of the file system below",
    modes: MODES,
    on: Some("ext4"),
    options: options![OptionDef {
        name: "lower",
        about: "what the lower folder holds, which a change copies up: empty; files (/a, and /b/a in a directory)",
        default: "empty",
    }],
    build,
};

fn build(options: &Options) -> Result<Box<dyn Component>, UsageError> {
    let lower = options.one_of("lower", &[("empty", false), ("files", true)])?;
    Ok(Box::new(Overlay::new(Common::of(options)?, lower)))
}
