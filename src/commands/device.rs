//! The options of the device that a crash interrupts.

use explode_runtime::writeset;

use crate::cli::{Atom, Completion, DeviceArgs};

/// The rules that the options name.
pub fn rules(args: &DeviceArgs) -> writeset::Rules {
    writeset::Rules {
        completion: match args.completion {
            Completion::Durable => writeset::Completion::Durable,
            Completion::Volatile => writeset::Completion::Volatile,
        },
        atom: match args.atom {
            Atom::Block => writeset::Atom::Block,
            Atom::Sector => writeset::Atom::Sector,
            Atom::Request => writeset::Atom::Request,
        },
        block_bytes: args.block,
        replace_versions: args.replace_versions,
    }
}
