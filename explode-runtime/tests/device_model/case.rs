//! A log to simulate, with an interval and all other inputs of the simulation.

use std::fmt;

use explode_ramdisk::{Event, Payload};

use super::machine::Machine;
use super::{Outcome, Rules, instants, row, simulate, tokens};

/// The number of devices of every case.
pub const DEVICES: u32 = 2;

/// The inputs of [`simulate`].
#[derive(Clone)]
pub struct Case {
    pub rules: Rules,
    pub sectors: u64,
    pub base: Vec<Vec<u8>>,
    pub log: Vec<Event>,
    pub interval: (usize, usize),
}

impl Case {
    pub fn simulate(&self) -> Outcome {
        simulate(&self.log, self.interval, self.sectors, DEVICES, &self.base, &self.rules)
    }

    pub fn instants(&self) -> Vec<Machine> {
        instants(&self.log, self.interval, self.sectors, DEVICES, &self.base, &self.rules)
    }
}

/// One line per event, with tokens for bytes, so that a failure can be read.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.rules)?;
        writeln!(f, "each device at first: {}", row(&tokens(&self.base[0])))?;
        for event in &self.log {
            match event {
                Event::Dirty { dev, sector, data } => {
                    writeln!(f, "dirty {dev}:{sector} {}", row(&tokens(data)))?
                }
                Event::Submit { id, dev, sector, payload, flags } => {
                    let fua = if flags.fua { " fua" } else { "" };
                    let preflush = if flags.preflush { " preflush" } else { "" };
                    let payload = match payload {
                        Payload::Data(data) => row(&tokens(data)),
                        other => format!("{other:?}"),
                    };
                    writeln!(f, "submit {id} {dev}:{sector} {payload}{preflush}{fua}")?;
                }
                other => writeln!(f, "{other:?}")?,
            }
        }
        Ok(())
    }
}
