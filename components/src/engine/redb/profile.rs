//! The promises of redb under each setting, quoted from its documentation.

use explode_runtime::verdict::{Profile, Promise};

use super::RedbSettings;
use crate::engine::{ATOMIC, DURABLE, INTACT, ISOLATED};

const DESIGN: &str = "https://github.com/cberner/redb/blob/master/docs/design.md";
const DURABILITY: &str = "https://docs.rs/redb/latest/redb/enum.Durability.html";

const SAFE: &str =
    "redb is designed to be safe even in the event of power failure or on poorly behaved media.";
const STRATEGIES: &str =
    "All redb transactions are atomic, and use one of the following commit strategies.";
const PARTIAL: &str =
    "This allows a partially committed transaction to be detected and rolled back, after a crash.";
const IMMEDIATE: &str = "Commits with this durability level are guaranteed to be persistent as \
                         soon as WriteTransaction::commit \
                         returns.";
const NONE: &str = "Commits with this durability level will not be persisted to disk unless \
                    followed by a commit with \
                    Durability::Immediate.";
const CONSISTENT: &str = "in the event of a crash the database is still guaranteed to be \
                          consistent, and will return to either \
                          the last non-durable commit or the last full commit that was made.";

/// Returns the promises of a setting.
///
/// redb assumes in return ("Assumptions about underlying media" in its design document) that a byte
/// is written as a whole or not at all, that synced data is durable, and that a write changes no
/// bytes beside it. Simulated files guarantee all three, and more: they write whole blocks, or with
/// `--atom sector` whole sectors.
pub(super) fn profile(settings: RedbSettings) -> Profile {
    let promised = |name, quote, source| Promise { name, kept: true, quote, source };
    let (durability, durable, intact) = if settings.durable {
        ("Immediate", promised(DURABLE, IMMEDIATE, DURABILITY), SAFE)
    } else {
        ("None", Promise { kept: false, ..promised(DURABLE, NONE, DURABILITY) }, CONSISTENT)
    };
    let commit = if settings.two_phase_commit || settings.quick_repair { "2PC" } else { "1PC+C" };
    let quick = if settings.quick_repair { " quick-repair" } else { "" };
    Profile {
        system: format!("redb durability={durability} {commit}{quick}"),
        promises: vec![
            promised(INTACT, intact, DESIGN),
            promised(ATOMIC, STRATEGIES, DESIGN),
            promised(ISOLATED, PARTIAL, DESIGN),
            durable,
        ],
    }
}
