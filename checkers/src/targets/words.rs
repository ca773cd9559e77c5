//! Templates: replaces `{word}` by the value of the word.

use explode_runtime::base::UsageError;
use toml::{Table, Value};

/// Replaces each `{word}` in the texts of a value. A text that is only `{word}` becomes the value
/// of that word, of any type.
///
/// # Errors
/// Returns an error if the word does not exist or its value cannot be part of a text.
pub(super) fn fill(value: &mut Value, words: &Table) -> Result<(), String> {
    match value {
        Value::String(template) => {
            let only = template.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            *value = match only.and_then(|word| words.get(word)) {
                Some(found) => found.clone(),
                None => Value::String(filled(template, words)?),
            };
            Ok(())
        }
        Value::Array(values) => values.iter_mut().try_for_each(|value| fill(value, words)),
        Value::Table(values) => values.iter_mut().try_for_each(|(_, value)| fill(value, words)),
        _ => Ok(()),
    }
}

fn filled(template: &str, words: &Table) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let open = || format!("'{template}' has a '{{' without a '}}'");
        let (word, after) = after.split_once('}').ok_or_else(open)?;
        filled += before;
        match words.get(word) {
            Some(Value::String(found)) => filled += found,
            Some(Value::Integer(number)) => filled += &number.to_string(),
            Some(other) => {
                let kind = other.type_str();
                return Err(format!("'{word}' is of type {kind}, which cannot stand in a text"));
            }
            None => {
                let known = words.keys().map(String::as_str);
                return Err(UsageError::unknown("column or word", word, known).0);
            }
        }
        rest = after;
    }
    Ok(filled + rest)
}
