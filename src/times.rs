//! Times on the command line: a number with a unit.

/// The longest time, in milliseconds: a year.
const LONGEST: f64 = 365.0 * 24.0 * 3_600_000.0;

/// Parses a time such as `500ms`, `60s`, `5m`, `8h`; returns milliseconds.
///
/// # Errors
/// The text is not a time, or the time is longer than a year.
pub fn milliseconds(text: &str) -> Result<u64, String> {
    let units = [("ms", 1.0), ("s", 1000.0), ("m", 60_000.0), ("h", 3_600_000.0)];
    let parsed = units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number * factor)
    });
    match parsed {
        Some(time) if time > LONGEST => Err("a time is a year at most: 8760h".to_owned()),
        Some(time) => Ok(time as u64),
        None => Err("a time is a number with a unit: 500ms, 60s, 5m, 8h".to_owned()),
    }
}
