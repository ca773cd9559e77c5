//! The contents of all devices of a stack at one moment.

use imbl::OrdMap;

use crate::{Condition, Damage, Disk, DiskFault, Identity};

/// A set of disks by device number. Copies share all contents. A device that is not in the set is
/// all zeroes.
#[derive(Clone, Debug, Default)]
pub struct Image {
    disks: OrdMap<u32, Disk>,
}

impl Image {
    /// Returns an image in which all devices are zeroes.
    pub fn new() -> Image {
        Image::default()
    }

    /// Returns the disk of a device. `None` if the device was never written.
    pub fn disk(&self, dev: u32) -> Option<&Disk> {
        self.disks.get(&dev)
    }

    /// Returns the disk of a device for changes.
    pub fn disk_mut(&mut self, dev: u32) -> &mut Disk {
        self.disks.entry(dev).or_default()
    }

    /// Returns the image without a device.
    #[must_use = "this returns the image without the device"]
    pub fn without(mut self, dev: u32) -> Image {
        self.disks.remove(&dev);
        self
    }

    /// Fills `buf` from byte `offset` of a device on.
    pub fn read(&self, dev: u32, offset: u64, buf: &mut [u8]) {
        match self.disk(dev) {
            Some(disk) => disk.read(offset, buf),
            None => buf.fill(0),
        }
    }

    /// Returns the devices that were ever written, in order.
    pub fn devices(&self) -> impl Iterator<Item = u32> + '_ {
        self.disks.keys().copied()
    }

    /// Returns true if some device, or a sector of it, has a fault that a reader can notice.
    pub fn is_damaged(&self) -> bool {
        self.disks.values().any(Disk::is_damaged)
    }

    /// Returns the condition of a device as a whole.
    pub fn condition(&self, dev: u32) -> Condition {
        self.disk(dev).map_or(Condition::Sound, Disk::condition)
    }

    /// Returns the image with the devices in the condition that they have in `other`, unless they
    /// have a worse one here.
    #[must_use = "this returns the image with the conditions"]
    pub fn in_condition_of(mut self, other: &Image) -> Image {
        for (dev, disk) in &other.disks {
            let fault = match disk.condition() {
                Condition::Sound => continue,
                Condition::Failed => DiskFault::Failed,
                Condition::Stale => DiskFault::Stale,
            };
            if self.condition(*dev) == Condition::Sound {
                self.disk_mut(*dev).damage(&Damage::Disk(fault));
            }
        }
        self
    }

    /// Returns the identity of the contents. Equal contents on equal devices have equal identities.
    pub fn identity(&self) -> Identity {
        self.disks
            .iter()
            .fold(Identity::default(), |sum, (dev, disk)| sum + disk.identity().on_device(*dev))
    }
}

impl FromIterator<(u32, Disk)> for Image {
    fn from_iter<I: IntoIterator<Item = (u32, Disk)>>(disks: I) -> Image {
        Image { disks: disks.into_iter().collect() }
    }
}
