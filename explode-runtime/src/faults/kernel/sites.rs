//! Functions of the kernel that the user names, each with its return value for a failure.
//!
//! In an option they have the form `NAME:RETURNS` or `NAME:RETURNS:unlisted`, with commas between
//! several. A stack file can also have a list of tables.

use nix::errno::Errno;

use crate::base::{OptionValue, UsageError};

/// The longest name of a function, in bytes.
const LONGEST: usize = 127;
/// The lowest number of an error (`MAX_ERRNO`).
const LAST_ERROR: i64 = -4095;
/// The word for a function that need not be in the kernel's list of functions that may fail.
const UNLISTED: &str = "unlisted";

/// A function that may fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultSite {
    /// The name of the function in /proc/kallsyms.
    pub symbol: String,
    /// The value that the function returns if it fails.
    pub returns: i64,
    /// True if the function may fail although it is not in the kernel's own list.
    pub unlisted: bool,
}

/// Returns the functions of an option.
///
/// # Errors
/// Returns an error that says what to write, for a value that is not understood.
pub(super) fn of(option: Option<&OptionValue>) -> Result<Vec<FaultSite>, UsageError> {
    let mut sites: Vec<FaultSite> = Vec::new();
    let mut add = |site: Result<FaultSite, UsageError>| {
        let site = site?;
        if sites.iter().any(|known| known.symbol == site.symbol) {
            return Err(UsageError(format!("probe: '{}' is named twice; omit one", site.symbol)));
        }
        sites.push(site);
        Ok(())
    };
    match option {
        None => {}
        Some(OptionValue::Text(text)) if text == "none" => {}
        Some(OptionValue::Text(text)) => text.split(',').try_for_each(|site| add(of_text(site)))?,
        Some(OptionValue::List(tables)) => {
            tables.iter().try_for_each(|table| add(of_table(table)))?
        }
        Some(other) => return Err(wrong(&other.to_string())),
    }
    Ok(sites)
}

fn wrong(text: &str) -> UsageError {
    UsageError(format!("probe: '{text}'; write NAME:RETURNS, such as ext2_add_link:-ENOSPC"))
}

fn of_text(text: &str) -> Result<FaultSite, UsageError> {
    match text.split(':').collect::<Vec<_>>()[..] {
        [symbol, returns] => site(symbol, returns, false),
        [symbol, returns, UNLISTED] => site(symbol, returns, true),
        _ => Err(wrong(text)),
    }
}

fn of_table(table: &OptionValue) -> Result<FaultSite, UsageError> {
    let OptionValue::Table(keys) = table else { return Err(wrong(&table.to_string())) };
    let known = ["symbol", "returns", UNLISTED];
    if let Some(key) = keys.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(UsageError::unknown("key of a probe", key, known));
    }
    let missing = |key: &str| UsageError(format!("a probe needs the key '{key}'"));
    let Some(OptionValue::Text(symbol)) = keys.get("symbol") else { return Err(missing("symbol")) };
    let returns = keys.get("returns").ok_or_else(|| missing("returns"))?.to_string();
    let unlisted = match keys.get(UNLISTED) {
        None => false,
        Some(OptionValue::Bool(unlisted)) => *unlisted,
        Some(other) => {
            return Err(UsageError(format!(
                "'{UNLISTED}' is true or false, and here it is '{other}'"
            )));
        }
    };
    site(symbol, &returns, unlisted)
}

fn site(symbol: &str, returns: &str, unlisted: bool) -> Result<FaultSite, UsageError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
    if symbol.is_empty() || symbol.len() > LONGEST || !symbol.bytes().all(plain) {
        return Err(UsageError(format!(
            "probe: '{symbol}' is no name of a function; /proc/kallsyms of the kernel has them"
        )));
    }
    Ok(FaultSite { symbol: symbol.to_owned(), returns: number(symbol, returns)?, unlisted })
}

/// Parses the return value of a function: a number, or the name of an error.
fn number(symbol: &str, text: &str) -> Result<i64, UsageError> {
    let named = |name: &str| {
        let errors = (1..=-LAST_ERROR as i32)
            .map(Errno::from_raw)
            .filter(|errno| *errno != Errno::UnknownErrno);
        errors
            .into_iter()
            .find(|errno| format!("{errno:?}") == name)
            .map(|errno| -i64::from(errno as i32))
    };
    let number = text.parse().ok().or_else(|| named(text.strip_prefix('-')?));
    let in_range = |number: &i64| (LAST_ERROR..=i64::from(i32::MAX)).contains(number);
    number.filter(in_range).ok_or_else(|| {
        UsageError(format!(
            "probe: '{symbol}' returns '{text}'; write an error such as -EIO, or a number from \
             {LAST_ERROR} to {}",
            i32::MAX
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn site(symbol: &str, returns: i64, unlisted: bool) -> FaultSite {
        FaultSite { symbol: symbol.to_owned(), returns, unlisted }
    }

    #[test]
    fn probes_are_read_from_text_and_from_tables() {
        let of = |text: &str| super::of(Some(&text.into()));
        assert_eq!(super::of(None), Ok(Vec::new()));
        assert_eq!(of("none"), Ok(Vec::new()));
        let both = vec![site("ext2_add_link", -28, true), site("x.isra.0", 0, false)];
        assert_eq!(of("ext2_add_link:-ENOSPC:unlisted,x.isra.0:0"), Ok(both.clone()));
        let table = |keys: &[(&str, OptionValue)]| {
            let keys = keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
            OptionValue::Table(BTreeMap::from_iter(keys))
        };
        let list = OptionValue::List(vec![
            table(&[
                ("symbol", "ext2_add_link".into()),
                ("returns", "-28".into()),
                ("unlisted", true.into()),
            ]),
            table(&[("symbol", "x.isra.0".into()), ("returns", 0_u32.into())]),
        ]);
        assert_eq!(super::of(Some(&list)), Ok(both));
        let error_of = |keys: &[(&str, OptionValue)]| {
            super::of(Some(&OptionValue::List(vec![table(keys)]))).unwrap_err().to_string()
        };
        assert_eq!(error_of(&[("symbol", "a".into())]), "a probe needs the key 'returns'");
        assert_eq!(
            error_of(&[("symbol", "a".into()), ("return", 1_u32.into())]),
            "unknown key of a probe 'return'; did you mean 'returns'?"
        );
    }

    #[test]
    fn malformed_probes_are_refused() {
        for (text, message) in [
            ("ext2_add_link", "write NAME:RETURNS"),
            ("a:0:listed", "write NAME:RETURNS"),
            (":-EIO", "'' is no name of a function"),
            ("a b:-EIO", "'a b' is no name"),
            ("a:EIO", "write an error such as -EIO"),
            ("a:-ENOTHING", "write an error such as -EIO"),
            ("a:-4096", "a number from -4095 to 2147483647"),
            ("a:2147483648", "a number from -4095 to 2147483647"),
            ("a:0,a:1", "'a' is named twice"),
        ] {
            let error = of(Some(&text.into())).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
