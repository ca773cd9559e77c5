//! Messages on a stream: the length in 4 bytes, little-endian, then the message in postcard's form.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The maximal length of a message in bytes. Memory grows with the bytes that have arrived, not
/// with the length that a message announces.
pub const FRAME_MAX: usize = 1 << 30;

/// The number of bytes that are read at once.
const READ_BYTES: usize = 1 << 16;

/// Encodes a message as it is sent on the stream.
///
/// # Errors
/// The message is longer than [`FRAME_MAX`].
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = postcard::to_extend(message, vec![0; 4]).map_err(io::Error::other)?;
    let length = frame.len() - 4;
    if length > FRAME_MAX {
        return Err(io::Error::other(format!("a message of {length} bytes is too long")));
    }
    frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(frame)
}

/// Takes messages out of the bytes that have arrived.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    /// The number of bytes that are taken.
    at: usize,
}

impl FrameReader {
    /// Adds bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.at));
        self.bytes.extend_from_slice(bytes);
    }

    /// Reads the bytes that have arrived, and waits if there are none. Returns false at the end of
    /// the stream.
    ///
    /// # Errors
    /// The stream fails.
    pub fn fill(&mut self, from: BorrowedFd<'_>) -> io::Result<bool> {
        let mut bytes = [0; READ_BYTES];
        loop {
            match nix::unistd::read(from, &mut bytes) {
                Ok(0) => return Ok(false),
                Ok(more) => {
                    self.push(&bytes[..more]);
                    return Ok(true);
                }
                Err(Errno::EINTR) => {}
                Err(errno) => {
                    let fd = from.as_raw_fd();
                    return Err(io::Error::other(format!("reading stream {fd}: {}", errno.desc())));
                }
            }
        }
    }

    /// Returns the next message; `None` if not all of it has arrived.
    ///
    /// # Errors
    /// The bytes are not a message. The stream cannot be used further.
    pub fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let nonsense = |why: &dyn std::fmt::Display| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a message cannot be decoded: {why}"),
            )
        };
        let bytes = &self.bytes[self.at..];
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME_MAX {
            return Err(nonsense(&format_args!("its length is {length}")));
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let (message, left) =
            postcard::take_from_bytes(message).map_err(|error| nonsense(&error))?;
        if !left.is_empty() {
            return Err(nonsense(&format_args!("{} bytes are left", left.len())));
        }
        self.at += 4 + length;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use crate::explore::{ReachedState, Sketch};
    use proptest::prelude::*;

    use super::*;
    use crate::choose::{Choice, ChoiceKind, Label};
    use crate::dedup::{KeyList, KnownChecks};
    use crate::verdict::{Broken, BrokenKind, DiskStage, StepName, WorkerStep};
    use crate::worker::{
        FatalCheck, FromWorker, LeftOut, Segment, ToWorker, UnitOrder, UnitResult, UnitSnapshot,
        WorkerStarted,
    };

    fn glass() -> Broken {
        BrokenKind::Tool.of("glass")
    }

    fn messages() -> Vec<FromWorker> {
        let label =
            Label { site: "here:1".to_owned(), stack: Some(1), object: Some("sda".to_owned()) };
        let choice = Choice {
            kind: ChoiceKind::Action,
            options: 2,
            value: 1,
            name: Some("one".to_owned()),
            label,
        };
        let segment = Segment {
            checked: KeyList(vec![1, u128::MAX]),
            nested_left_out: vec![LeftOut { number: 9, count: 7.into() }],
            shown: vec![(0, KeyList(vec![1]))],
            arrival: Some(ReachedState {
                signature: u128::MAX,
                depth: 3,
                choices: 5,
                sketch: Some(Sketch::of(b"state")),
                topology: Some(7),
            }),
            ..Segment::default()
        };
        let mut result = UnitResult { segments: vec![segment], ..UnitResult::default() };
        result.add_broken(glass());
        vec![
            FromWorker::Ready("0.1.0".to_owned()),
            FromWorker::Started(WorkerStarted {
                unobserved: vec!["much".to_owned()],
                forecast: vec![5.into(), u64::MAX.into()],
                ..WorkerStarted::default()
            }),
            FromWorker::Chose(choice),
            FromWorker::AboutTo(
                WorkerStep::Disk { key: 5, crashes: 1, stage: DiskStage::Mount },
                9,
            ),
            FromWorker::Snapshot(
                WorkerStep::Finish,
                Box::new(UnitSnapshot { result: result.clone(), ..UnitSnapshot::default() }),
            ),
            FromWorker::End(Box::new(result)),
        ]
    }

    fn to_worker() -> Vec<ToWorker> {
        let violation =
            crate::verdict::Violation::new(crate::verdict::Verdict::Hang, "check", "no end");
        let outcome = crate::worker::DeathOutcome::Error(violation, StepName::Check);
        let past = vec![FatalCheck { key: 3, crashes: 0, outcome }];
        vec![
            ToWorker::Learn(KnownChecks::default()),
            ToWorker::Run(Box::new(UnitOrder {
                past,
                snapshot_before: vec![WorkerStep::Start],
                stream_choices: true,
                ..UnitOrder::default()
            })),
            ToWorker::Stop,
        ]
    }

    /// Reads messages from bytes that arrive in pieces. Returns false if the bytes are not
    /// messages.
    fn read<T: DeserializeOwned>(bytes: &[u8], piece: usize) -> (Vec<T>, bool) {
        let mut reader = FrameReader::default();
        let mut messages = Vec::new();
        for piece in bytes.chunks(piece.max(1)) {
            reader.push(piece);
            loop {
                match reader.take() {
                    Ok(Some(message)) => messages.push(message),
                    Ok(None) => break,
                    Err(_) => return (messages, false),
                }
            }
            assert!(
                reader.bytes.capacity() <= 4 * bytes.len().max(64),
                "memory grows with what has come"
            );
        }
        (messages, true)
    }

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let bytes: Vec<u8> =
            messages().iter().flat_map(|message| encode(message).unwrap()).collect();
        for piece in [1, 3, 1000, bytes.len()] {
            assert_eq!(read::<FromWorker>(&bytes, piece), (messages(), true));
        }
        let bytes: Vec<u8> = to_worker().iter().flat_map(|word| encode(word).unwrap()).collect();
        assert_eq!(read::<ToWorker>(&bytes, 7), (to_worker(), true));
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused() {
        let length = (FRAME_MAX as u32 + 1).to_le_bytes();
        assert_eq!(read::<FromWorker>(&length, 4), (Vec::new(), false));
    }

    proptest! {
        #[test]
        fn garbage_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..400),
            piece in 1_usize..50) {
            read::<FromWorker>(&bytes, piece);
            read::<ToWorker>(&bytes, piece);
            // The same bytes as one whole message.
            let framed = [&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat();
            read::<FromWorker>(&framed, piece);
            read::<ToWorker>(&framed, piece);
        }

        #[test]
        fn damaged_messages_are_survived(at in any::<prop::sample::Index>(), flip in 1_u8..=255,
            piece in 1_usize..50) {
            let mut bytes: Vec<u8> =
                messages().iter().flat_map(|message| encode(message).unwrap()).collect();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            read::<FromWorker>(&bytes, piece);
            let words = to_worker();
            let mut bytes: Vec<u8> = words.iter().flat_map(|word| encode(word).unwrap()).collect();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            read::<ToWorker>(&bytes, piece);
        }
    }
}
