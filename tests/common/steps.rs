//! Going a checker's way by the names of its steps.

use explode_runtime::choose::ChoicePoint;

/// The answer that has this name.
///
/// # Panics
/// None has.
pub fn named(point: &ChoicePoint<'_>, name: &str) -> u32 {
    let found = point.names.iter().position(|other| other == name);
    found.unwrap_or_else(|| panic!("no step '{name}' in {:?}", point.names)) as u32
}
