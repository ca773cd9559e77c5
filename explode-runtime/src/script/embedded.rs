//! Bytes that a script needs, as files that it creates: by plain commands if the bytes are a
//! pattern, otherwise from base64.

use super::blocks::base64;
use super::words::word;

/// The maximum number of bytes of a line in a pattern.
const LONGEST_LINE: usize = 80;
/// The maximum number of commands for a file. More are harder to read than base64.
const MOST: usize = 40;
/// The minimum number of equal bytes in a row for a command.
const ZEROES: usize = 32;

/// Files of bytes, without duplicates.
#[derive(Debug, Default)]
pub(super) struct EmbeddedData(Vec<Vec<u8>>);

impl EmbeddedData {
    /// Returns the name of the file with these bytes. Adds it if it is missing.
    pub fn name(&mut self, bytes: &[u8]) -> String {
        let at = self.0.iter().position(|known| known == bytes).unwrap_or_else(|| {
            self.0.push(bytes.to_vec());
            self.0.len() - 1
        });
        format!("data{}", at + 1)
    }

    /// Returns the name of a file that contains these bytes, and their offset in it. Only offsets
    /// at multiples of 512 count.
    pub fn find(&self, bytes: &[u8]) -> Option<(String, usize)> {
        let whole = |known: &Vec<u8>| {
            let mut places = (0..known.len()).step_by(512);
            places.find(|at| known[*at..].starts_with(bytes))
        };
        self.0
            .iter()
            .zip(1..)
            .find_map(|(known, number)| Some((format!("data{number}"), whole(known)?)))
    }

    /// Returns the lines that create the files in `$work`.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (bytes, number) in self.0.iter().zip(1..) {
            lines.extend(file(&format!("\"$work/data{number}\""), bytes));
        }
        lines
    }
}

fn file(name: &str, bytes: &[u8]) -> Vec<String> {
    match commands(bytes) {
        Some(commands) if commands.is_empty() => vec![format!(": > {name}")],
        Some(commands) if commands.len() == 1 => vec![format!("{} > {name}", commands[0])],
        Some(commands) => {
            let inside = commands.into_iter().map(|command| format!("    {command}"));
            [vec!["{".to_owned()], inside.collect(), vec![format!("}} > {name}")]].concat()
        }
        None => {
            [vec![format!("base64 -d > {name} <<'END'")], base64(bytes), vec!["END".to_owned()]]
                .concat()
        }
    }
}

/// Returns commands that print these bytes. `None` if there would be too many.
fn commands(bytes: &[u8]) -> Option<Vec<String>> {
    let mut commands = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        if commands.len() == MOST {
            return None;
        }
        let zeroes = rest.iter().take_while(|byte| **byte == 0).count();
        if zeroes >= ZEROES || zeroes == rest.len() {
            commands.push(format!("head -c {zeroes} /dev/zero"));
            rest = &rest[zeroes..];
            continue;
        }
        let same = rest.iter().take_while(|byte| **byte == rest[0]).count();
        if same >= ZEROES {
            commands.push(format!("head -c {same} /dev/zero | tr '\\000' '\\{:03o}'", rest[0]));
            rest = &rest[same..];
            continue;
        }
        let taken = line(rest, &mut commands)?;
        rest = &rest[taken..];
    }
    Some(commands)
}

/// Adds a command for a printable line and its repetitions, or for a few printable bytes at the
/// end. Returns the number of bytes covered.
fn line(rest: &[u8], commands: &mut Vec<String>) -> Option<usize> {
    let printable = |bytes: &[u8]| bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
    let end = rest.iter().take(LONGEST_LINE).position(|byte| *byte == b'\n');
    match end {
        Some(end) if printable(&rest[..end]) => {
            let line = &rest[..=end];
            let same = rest
                .chunks(line.len())
                .take_while(|chunk| line.starts_with(chunk))
                .map(<[u8]>::len);
            let same: usize = same.sum();
            let text = word(&String::from_utf8_lossy(&line[..end]));
            commands.push(format!("yes {text} | head -c {same}"));
            Some(same)
        }
        None if rest.len() <= LONGEST_LINE && printable(rest) => {
            commands.push(format!("printf %s {}", word(&String::from_utf8_lossy(rest))));
            Some(rest.len())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_commands() {
        let cell = b"a00003+00000008\n".repeat(32);
        assert_eq!(commands(&cell).unwrap(), ["yes a00003+00000008 | head -c 512"]);
        assert_eq!(
            commands(&[&[0; 100][..], b"test"].concat()).unwrap(),
            ["head -c 100 /dev/zero", "printf %s test"]
        );
        assert_eq!(
            commands(&[b'N'; 5000]).unwrap(),
            ["head -c 5000 /dev/zero | tr '\\000' '\\116'"]
        );
        assert_eq!(commands(&(0..=255).collect::<Vec<u8>>()), None);
        assert_eq!(commands(b"").unwrap(), [""; 0]);
    }

    #[test]
    fn embedded_data_is_found_by_its_bytes() {
        let mut data = EmbeddedData::default();
        assert_eq!(data.name(&[1; 1024]), "data1");
        assert_eq!(
            (data.name(&[2; 512]), data.name(&[1; 1024])),
            ("data2".to_owned(), "data1".to_owned())
        );
        assert_eq!(data.find(&[2; 512]), Some(("data2".to_owned(), 0)));
        assert_eq!(data.find(&[3; 512]), None);
    }
}
