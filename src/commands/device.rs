//! The options of the device that crashes.

use explode_runtime::writeset;

use crate::cli::{AtomArg, CompletionArg, DeviceArgs};

/// Returns the device rules that the options name.
pub fn rules(args: &DeviceArgs) -> writeset::DeviceRules {
    writeset::DeviceRules {
        completion: match args.completion {
            CompletionArg::Durable => writeset::Completion::Durable,
            CompletionArg::Volatile => writeset::Completion::Volatile,
        },
        atom: match args.atom {
            AtomArg::Block => writeset::Atom::Block,
            AtomArg::Sector => writeset::Atom::Sector,
            AtomArg::Request => writeset::Atom::Request,
        },
        block_bytes: args.block,
        replace_versions: args.replace_versions,
    }
}
