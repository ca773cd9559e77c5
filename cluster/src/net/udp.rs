//! UDP sockets.

use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::task::{Context, Poll};

use nix::errno::Errno;
use smoltcp::iface::SocketHandle;
use smoltcp::socket::udp::{RecvError, SendError};

use super::addr::ToHostAddr;
use super::device::MTU;
use super::stack::{HostStack, TaskSocket, v4};
use super::tcp::socket_address;

/// The size of the largest datagram: what an IP packet has without its headers.
const LARGEST: usize = MTU - 20 - 8;

/// A UDP socket, like that of `tokio::net`.
#[derive(Debug)]
pub struct UdpSocket {
    socket: TaskSocket<SocketHandle>,
}

impl UdpSocket {
    /// Makes a socket at an address of the host whose task calls this, or at all of them:
    /// `"0.0.0.0:5000"`.
    ///
    /// # Errors
    /// The address is none, not one of the host, or in use.
    pub async fn bind(addr: impl ToHostAddr) -> io::Result<UdpSocket> {
        let at = addr.to_host_addr()?;
        let socket = HostStack::current()?.make(|sockets| sockets.bind_udp(at))?;
        Ok(UdpSocket { socket })
    }

    /// Returns the address of the socket.
    ///
    /// # Errors
    /// The host has crashed.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.with(|sockets, handle| {
            let at = sockets.udp(handle).endpoint();
            let ip = at.addr.map_or(Ipv4Addr::UNSPECIFIED, v4);
            Ok(SocketAddrV4::new(ip, at.port).into())
        })
    }

    /// Returns the address of the peer.
    ///
    /// # Errors
    /// The socket has no peer.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.with(|sockets, handle| {
            let peer = sockets.peers.iter().find(|(known, _)| *known == handle);
            peer.map(|(_, peer)| (*peer).into()).ok_or(io::ErrorKind::NotConnected.into())
        })
    }

    /// Sets the peer: [`send`](UdpSocket::send) sends to it, and datagrams of others are lost.
    ///
    /// # Errors
    /// The address is none.
    pub async fn connect(&self, addr: impl ToHostAddr) -> io::Result<()> {
        let peer = addr.to_host_addr()?;
        self.socket.with(|sockets, handle| {
            sockets.peers.retain(|(known, _)| *known != handle);
            sockets.peers.push((handle, peer));
            Ok(())
        })
    }

    /// Sends a datagram to the peer. It may be lost.
    ///
    /// # Errors
    /// The socket has no peer, or those of [`send_to`](UdpSocket::send_to).
    pub async fn send(&self, data: &[u8]) -> io::Result<usize> {
        self.send_to(data, self.peer_addr()?).await
    }

    /// Sends a datagram. It may be lost.
    ///
    /// # Errors
    /// The address is none, or there are more than 1472 bytes: datagrams are not fragmented.
    pub async fn send_to(&self, data: &[u8], target: impl ToHostAddr) -> io::Result<usize> {
        let target = target.to_host_addr()?;
        if data.len() > LARGEST {
            return Err(Errno::EMSGSIZE.into());
        }
        poll_fn(|cx| {
            self.socket.poll(cx, |sockets, handle| {
                match sockets.udp(handle).send_slice(data, target) {
                    Ok(()) => Poll::Ready(Ok(data.len())),
                    Err(SendError::BufferFull) => Poll::Pending,
                    Err(SendError::Unaddressable) => {
                        Poll::Ready(Err(io::ErrorKind::InvalidInput.into()))
                    }
                }
            })
        })
        .await
    }

    /// Waits for a datagram of the peer. What has no place in `into` is lost.
    ///
    /// # Errors
    /// The host has crashed.
    pub async fn recv(&self, into: &mut [u8]) -> io::Result<usize> {
        Ok(self.recv_from(into).await?.0)
    }

    /// Waits for a datagram. Returns its size and its sender. What has no place in `into` is lost.
    ///
    /// # Errors
    /// The host has crashed.
    pub async fn recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        poll_fn(|cx| self.poll_recv_from(cx, into)).await
    }

    fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.socket.poll(cx, |sockets, handle| {
            let peer = sockets.peers.iter().find(|(known, _)| *known == handle);
            let peer = peer.map(|(_, peer)| *peer);
            loop {
                let (data, from) = match sockets.udp(handle).recv() {
                    Ok((data, metadata)) => (data, socket_address(metadata.endpoint)),
                    Err(RecvError::Exhausted | RecvError::Truncated) => return Poll::Pending,
                };
                if peer.is_none_or(|peer| peer == from) {
                    let count = data.len().min(into.len());
                    into[..count].copy_from_slice(&data[..count]);
                    return Poll::Ready(Ok((count, from.into())));
                }
            }
        })
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        self.socket.ends(|sockets, handle| {
            sockets.peers.retain(|(known, _)| *known != handle);
            sockets.set.remove(handle);
        });
    }
}
