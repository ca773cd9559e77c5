//! Choices by the names of a checker's steps.

use explode_runtime::choose::ChoicePoint;

/// Returns the answer of this name.
///
/// # Panics
/// No answer has this name.
pub fn named(point: &ChoicePoint<'_>, name: &str) -> u32 {
    let found = point.names.iter().position(|other| other == name);
    found.unwrap_or_else(|| panic!("no step '{name}' in {:?}", point.names)) as u32
}
