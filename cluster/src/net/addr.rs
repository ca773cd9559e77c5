//! The addresses of sockets as programs write them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use super::host_address::address_of;
use super::stack::HostStack;
use crate::node::NodeId;

/// The address of a socket, as a program writes it: `"n2:80"`, `("10.0.0.2", 80)`, a `SocketAddr`.
pub trait ToHostAddr {
    /// Returns the address.
    ///
    /// # Errors
    /// The text is no address, there is no host of the name, or the address is one of IPv6.
    fn to_host_addr(&self) -> io::Result<SocketAddrV4>;
}

/// Returns the address of a host's name, or of an address in words.
fn resolve(name: &str) -> io::Result<Ipv4Addr> {
    if let Ok(address) = name.parse() {
        return v4(address);
    }
    let hosts = HostStack::current()?.hosts();
    let mut nodes = (0..hosts).map(NodeId::at);
    let named = nodes.find(|node| node.to_string() == name).map(address_of);
    named.or((name == "localhost").then_some(Ipv4Addr::LOCALHOST)).ok_or_else(|| {
        let text = format!("no host has the name '{name}'; the hosts are n1 to n{hosts}");
        io::Error::new(io::ErrorKind::NotFound, text)
    })
}

fn v4(address: IpAddr) -> io::Result<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Ok(address),
        IpAddr::V6(address) => {
            let text = format!("{address} is an address of IPv6; hosts have those of IPv4 only");
            Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text))
        }
    }
}

impl ToHostAddr for SocketAddrV4 {
    fn to_host_addr(&self) -> io::Result<SocketAddrV4> {
        Ok(*self)
    }
}

impl ToHostAddr for SocketAddr {
    fn to_host_addr(&self) -> io::Result<SocketAddrV4> {
        Ok(SocketAddrV4::new(v4(self.ip())?, self.port()))
    }
}

impl ToHostAddr for (IpAddr, u16) {
    fn to_host_addr(&self) -> io::Result<SocketAddrV4> {
        Ok(SocketAddrV4::new(v4(self.0)?, self.1))
    }
}

impl ToHostAddr for (Ipv4Addr, u16) {
    fn to_host_addr(&self) -> io::Result<SocketAddrV4> {
        Ok(SocketAddrV4::new(self.0, self.1))
    }
}

impl ToHostAddr for (&str, u16) {
    fn to_host_addr(&self) -> io::Result<SocketAddrV4> {
        Ok(SocketAddrV4::new(resolve(self.0)?, self.1))
    }
}

impl ToHostAddr for (String, u16) {
    fn to_host_addr(&self) -> io::Result<SocketAddrV4> {
        (&*self.0, self.1).to_host_addr()
    }
}

impl ToHostAddr for str {
    fn to_host_addr(&self) -> io::Result<SocketAddrV4> {
        if let Ok(address) = self.parse::<SocketAddr>() {
            return address.to_host_addr();
        }
        let parts = self.rsplit_once(':').and_then(|(name, port)| Some((name, port.parse().ok()?)));
        let (name, port): (&str, u16) = parts.ok_or_else(|| {
            let text = format!("'{self}' is no address; write a name and a port, as in 'n2:80'");
            io::Error::new(io::ErrorKind::InvalidInput, text)
        })?;
        (name, port).to_host_addr()
    }
}

impl ToHostAddr for String {
    fn to_host_addr(&self) -> io::Result<SocketAddrV4> {
        (**self).to_host_addr()
    }
}

impl<T: ToHostAddr + ?Sized> ToHostAddr for &T {
    fn to_host_addr(&self) -> io::Result<SocketAddrV4> {
        (**self).to_host_addr()
    }
}
