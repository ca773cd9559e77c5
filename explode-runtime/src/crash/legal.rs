//! The crash disks of one instant, by number: for a system that chooses one of them and goes on.

use explode_ramdisk::Image;
use num_bigint::BigUint;

use super::emission::Emission;
use super::epoch::{Epoch, Epochs};
use super::piece::KeptPiece;
use super::sample::SampleLimits;
use crate::writeset::WriteSet;

/// The disks that a crash at one instant can leave, numbered from the disk that keeps nothing to
/// the disk that keeps everything.
#[derive(Debug)]
pub struct LegalDisks(Emission);

/// A crash disk that was built.
#[derive(Clone, Debug)]
pub struct BuiltDisk {
    /// The contents.
    pub image: Image,
    /// The pieces of the write set that the disk has kept.
    pub kept: Vec<KeptPiece>,
}

impl LegalDisks {
    /// Returns the disks that a crash can leave now.
    pub fn of(write_set: &WriteSet) -> LegalDisks {
        LegalDisks(Emission::of(write_set))
    }

    /// Returns the number of disks, at least 1. Disks with equal contents are counted separately.
    pub fn count(&self) -> BigUint {
        self.0.count()
    }

    /// Returns the numbers of the disks to choose from, in order: all of them, or a sample if there
    /// are more than the limit. `index` is the number of the crash on its path.
    pub fn numbers(&self, limits: &SampleLimits, index: u64) -> DiskNumbers {
        match limits.sample(index, &self.0) {
            Some(numbers) => DiskNumbers::Sample(numbers),
            None => DiskNumbers::All(u64::try_from(self.count()).expect("it is below the limit")),
        }
    }

    /// Builds the disk of a number.
    ///
    /// # Panics
    /// If the number is not below the count.
    pub fn build(&self, number: &BigUint) -> BuiltDisk {
        let mut built = None;
        let epochs = |_| Epochs::only_if(Epoch::Now, true);
        self.0.some(std::slice::from_ref(number), &epochs, &mut |disk| {
            built = Some(BuiltDisk { image: disk.image(), kept: disk.kept() });
        });
        built.expect("the number is below the count")
    }

    /// Returns the number of ranges with pending pieces, in the world with the most.
    pub fn ranges(&self) -> usize {
        self.0.worlds.iter().map(|world| world.ranges().count()).max().unwrap_or_default()
    }
}

/// The numbers of the disks to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskNumbers {
    /// All numbers below this one.
    All(u64),
    /// A sample, in order.
    Sample(Vec<BigUint>),
}

impl DiskNumbers {
    /// Returns the number of disks to choose from, at least 1.
    pub fn len(&self) -> u64 {
        match self {
            DiskNumbers::All(count) => *count,
            DiskNumbers::Sample(numbers) => numbers.len() as u64,
        }
    }

    /// Returns false, because there is always a disk.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of the disk at a place of the order.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn at(&self, place: u64) -> BigUint {
        match self {
            DiskNumbers::All(count) => {
                assert!(place < *count, "place {place} of {count} disks");
                place.into()
            }
            DiskNumbers::Sample(numbers) => numbers[place as usize].clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use explode_ramdisk::Event;

    use super::*;
    use crate::writeset::DeviceRules;

    #[test]
    fn numbers_name_the_disks_from_nothing_kept_to_everything_kept() {
        let mut write_set = WriteSet::new(Image::new(), DeviceRules::default());
        for (block, value) in [(0, 1), (0, 2), (1, 3)] {
            let data = vec![value; 4096].into();
            write_set.apply(&Event::Dirty { dev: 0, sector: block * 8, data }).unwrap();
        }
        let disks = LegalDisks::of(&write_set);
        assert_eq!((disks.count(), disks.ranges()), (6u32.into(), 2));
        let numbers = disks.numbers(&SampleLimits::default(), 0);
        assert_eq!(numbers, DiskNumbers::All(6));
        let built: Vec<BuiltDisk> =
            (0..numbers.len()).map(|place| disks.build(&numbers.at(place))).collect();
        let byte = |image: &Image, at: u64| {
            let mut bytes = [0];
            image.read(0, at, &mut bytes);
            bytes[0]
        };
        let bytes: Vec<(u8, u8)> =
            built.iter().map(|disk| (byte(&disk.image, 0), byte(&disk.image, 4096))).collect();
        assert_eq!(bytes, [(0, 0), (0, 3), (1, 0), (1, 3), (2, 0), (2, 3)]);
        assert_eq!(
            built.iter().map(|disk| disk.kept.len()).collect::<Vec<_>>(),
            [0, 1, 1, 2, 1, 2]
        );
        let few = SampleLimits { limit: 2, samples: 3, ..SampleLimits::default() };
        assert_eq!(disks.numbers(&few, 0).len(), 3);
    }
}
