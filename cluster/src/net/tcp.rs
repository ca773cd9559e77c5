//! TCP listeners and streams.

use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::pin::Pin;
use std::task::{Context, Poll};

use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp::{RecvError, Socket, State};
use smoltcp::time::Instant;
use smoltcp::wire::IpEndpoint;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::addr::ToHostAddr;
use super::stack::{HostStack, TaskSocket, v4};

/// A socket that accepts connections, like that of `tokio::net`.
#[derive(Debug)]
pub struct TcpListener {
    socket: TaskSocket<u32>,
}

/// A TCP connection, like that of `tokio::net`.
#[derive(Debug)]
pub struct TcpStream {
    socket: TaskSocket<SocketHandle>,
    local: SocketAddrV4,
    peer: SocketAddrV4,
}

impl TcpListener {
    /// Listens at an address of the host whose task calls this, or at all of them: `"0.0.0.0:80"`.
    ///
    /// # Errors
    /// The address is none, not one of the host, or in use.
    pub async fn bind(addr: impl ToHostAddr) -> io::Result<TcpListener> {
        let at = addr.to_host_addr()?;
        let socket = HostStack::current()?.make(|sockets| sockets.listen(at))?;
        Ok(TcpListener { socket })
    }

    /// Waits for a connection. Returns it with the address of the peer.
    ///
    /// # Errors
    /// The host has crashed.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// Polls for a connection.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        self.socket.poll(cx, |sockets, id| {
            let Some(handle) = sockets.accept(id) else { return Poll::Pending };
            let socket = self.socket.sibling(handle);
            let stream = TcpStream::new(socket, sockets.tcp(handle));
            let peer = SocketAddr::V4(stream.peer);
            Poll::Ready(Ok((stream, peer)))
        })
    }

    /// Returns the address at which this listens.
    ///
    /// # Errors
    /// The host has crashed.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.with(|sockets, id| Ok(sockets.listens_at(id).into()))
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        self.socket.ends(|sockets, id| {
            sockets.ends_listener(id);
        });
    }
}

impl TcpStream {
    /// Opens a connection.
    ///
    /// # Errors
    /// The address is none, nothing listens there, or no answer arrives within 127 seconds.
    pub async fn connect(addr: impl ToHostAddr) -> io::Result<TcpStream> {
        let peer = addr.to_host_addr()?;
        let socket = HostStack::current()?.make(|sockets| sockets.connect(peer))?;
        let mut stream = TcpStream { socket, local: peer, peer };
        let late = HostStack::current()?.gives_up();
        poll_fn(|cx| stream.poll_connected(late, cx)).await?;
        stream.local = stream.socket.with(|sockets, handle| Ok(ends(sockets.tcp(handle)).0))?;
        Ok(stream)
    }

    /// Returns the stream of a connection that is established.
    fn new(socket: TaskSocket<SocketHandle>, of: &Socket<'_>) -> TcpStream {
        let (local, peer) = ends(of);
        TcpStream { socket, local, peer }
    }

    /// Polls for the end of the handshake. From the time `late` on the peer was silent for too
    /// long.
    fn poll_connected(&self, late: Instant, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll(cx, |sockets, handle| {
            let is_late = sockets.now() >= late;
            match sockets.tcp(handle).state() {
                State::SynSent | State::SynReceived => Poll::Pending,
                State::Closed if is_late => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                State::Closed => Poll::Ready(Err(io::ErrorKind::ConnectionRefused.into())),
                _ => Poll::Ready(Ok(())),
            }
        })
    }

    /// Returns the address of this end.
    ///
    /// # Errors
    /// None: the signature is that of tokio.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local.into())
    }

    /// Returns the address of the other end.
    ///
    /// # Errors
    /// None: the signature is that of tokio.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer.into())
    }

    /// With `true`, small writes do not wait until earlier ones are acknowledged.
    ///
    /// # Errors
    /// The host has crashed.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.socket.with(|sockets, handle| {
            sockets.tcp(handle).set_nagle_enabled(!nodelay);
            Ok(())
        })
    }

    /// Returns true if small writes do not wait.
    ///
    /// # Errors
    /// The host has crashed.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.socket.with(|sockets, handle| Ok(!sockets.tcp(handle).nagle_enabled()))
    }

    pub(super) fn poll_read_ref(
        &self,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.socket.poll(cx, |sockets, handle| {
            let socket = sockets.tcp(handle);
            match socket.recv_slice(into.initialize_unfilled()) {
                Ok(0) if into.remaining() > 0 => Poll::Pending,
                Ok(count) => {
                    into.advance(count);
                    Poll::Ready(Ok(()))
                }
                Err(RecvError::Finished) => Poll::Ready(Ok(())),
                Err(RecvError::InvalidState) => Poll::Ready(Err(broken(socket))),
            }
        })
    }

    pub(super) fn poll_write_ref(
        &self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.socket.poll(cx, |sockets, handle| {
            let socket = sockets.tcp(handle);
            match socket.send_slice(data) {
                Ok(0) if !data.is_empty() => Poll::Pending,
                Ok(count) => Poll::Ready(Ok(count)),
                Err(_) => Poll::Ready(Err(broken(socket))),
            }
        })
    }

    /// Ends the stream from here to the peer.
    pub(super) fn close(&self) -> io::Result<()> {
        self.socket.with(|sockets, handle| {
            sockets.tcp(handle).close();
            Ok(())
        })
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_read_ref(cx, into)
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_ref(cx, data)
    }

    /// Returns at once: bytes that are written leave as soon as the peer has room.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.close())
    }
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        self.socket.ends(|sockets, handle| {
            sockets.leaves(handle);
        });
    }
}

/// Returns the addresses of this end and of the other.
fn ends(socket: &Socket<'_>) -> (SocketAddrV4, SocketAddrV4) {
    let (local, peer) = (socket.local_endpoint(), socket.remote_endpoint());
    (
        socket_address(local.expect("it is connected")),
        socket_address(peer.expect("it is connected")),
    )
}

/// Returns the address of an end.
pub(super) fn socket_address(endpoint: IpEndpoint) -> SocketAddrV4 {
    SocketAddrV4::new(v4(endpoint.addr), endpoint.port)
}

/// Returns the error of a connection that cannot be used in this direction.
fn broken(socket: &Socket<'_>) -> io::Error {
    let kind = match socket.state() {
        State::Closed => io::ErrorKind::ConnectionReset,
        _ => io::ErrorKind::BrokenPipe,
    };
    kind.into()
}
