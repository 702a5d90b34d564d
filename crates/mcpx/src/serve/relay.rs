//! The streams of a relay: four of them, read and written as each has something or has room.
//!
//! Nothing is read for which there is no room behind it. A message is passed on whole or not at all: a client never sees
//! half a line, and what a daemon got half of was not sent.

mod breaks;
mod greet;
mod out;
mod turns;

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use mcp_wire::lines::Lines;
use mcpx_api::pipe::Ending;
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf,
};
use tokio::time::Instant;

use self::out::Out;
use super::Terms;
use super::ledger::Outgoing;
use super::pace::Pace;
use super::session::Session;
use super::way::{After, Trouble, Way};
use crate::exit::{Exit, Failure};

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;
/// Bytes that wait for the client before the daemon is read no more.
const ROOM_DOWN: usize = 1 << 20;
/// Bytes that wait for a daemon before the client is read no more.
const ROOM_UP: usize = 4 << 20;
/// Messages that do.
const ROOM_UP_COUNT: usize = 4_096;
/// The longest message of a daemon that is passed on.
const LONGEST: usize = 256 << 20;
/// How long the client may take to read the last of it.
const LAST: Duration = Duration::from_secs(5);

/// Passes messages on until the client has said its last and has its answers.
///
/// # Errors
/// When the first daemon refuses what the client is to be served with.
pub(crate) async fn relay<D: Way>(
    way: &D,
    terms: Terms,
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> Result<Exit, Failure> {
    let mut relay = Relay::new(way, terms);
    relay.open(Duration::ZERO, After::Begin);
    let (mut up, mut down) = (vec![0; PIECE], vec![0; PIECE]);
    while !relay.is_done {
        let event = relay
            .next(&mut input, &mut up, &mut output, &mut down)
            .await;
        match event {
            Event::Client(count) => relay.take_client(up.get(..count).unwrap_or_default()),
            Event::Daemon(count) => relay.take_daemon(down.get(..count).unwrap_or_default()),
            Event::Sent(count) => relay.sent(count),
            Event::Told(count) => relay.out.written(count),
            Event::Opened(opened) => relay.opened(*opened)?,
            Event::Late => relay.late(),
            Event::ClientGone => return Ok(Exit::Ok),
        }
        relay.close_when_over().await;
    }
    let last = async {
        output.write_all(relay.out.unwritten()).await?;
        output.flush().await
    };
    let _not_read = tokio::time::timeout(LAST, last).await;
    Ok(if relay.was_connected {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

/// What happened next.
enum Event<Io> {
    /// So many bytes came from the client; none: it has said its last.
    Client(usize),
    /// So many bytes came from the daemon; none: the connection is over.
    Daemon(usize),
    /// So many bytes went to the daemon; none: the connection is over.
    Sent(usize),
    /// So many bytes went to the client.
    Told(usize),
    Opened(Box<Result<Opened<Io>, Trouble>>),
    /// The time for open work is over.
    Late,
    /// Nobody reads what is written.
    ClientGone,
}

/// A connection after its handshake, and what came behind it.
struct Opened<Io> {
    io: Io,
    lines: Lines,
}

type Opening<'w, Io> = Pin<Box<dyn Future<Output = Result<Opened<Io>, Trouble>> + 'w>>;

enum Link<'w, Io> {
    /// No daemon, and none is looked for until the client asks for something.
    Resting,
    Opening(Opening<'w, Io>),
    Open {
        reader: ReadHalf<Io>,
        writer: WriteHalf<Io>,
        lines: Lines,
        /// Nothing more is written: the client, or the daemon, wants no more.
        is_closed: bool,
    },
}

struct Relay<'w, D: Way> {
    way: &'w D,
    session: Session,
    pace: Pace,
    link: Link<'w, D::Io>,
    /// From the client, whose lines may be cut anywhere.
    lines: Lines,
    up: VecDeque<Outgoing>,
    /// Bytes of all that waits.
    up_bytes: usize,
    /// Bytes of the first that are written.
    up_at: usize,
    /// Messages on this connection.
    sent: u64,
    out: Out,
    ending: Option<Ending>,
    deadline: Option<Instant>,
    drain: Duration,
    was_connected: bool,
    is_done: bool,
}

impl<'w, D: Way> Relay<'w, D> {
    fn new(way: &'w D, terms: Terms) -> Self {
        Self {
            way,
            pace: Pace::default(),
            link: Link::Resting,
            lines: Lines::new(terms.message),
            up: VecDeque::new(),
            up_bytes: 0,
            up_at: 0,
            sent: 0,
            out: Out::default(),
            ending: None,
            deadline: None,
            drain: terms.drain,
            session: Session::new(terms),
            was_connected: false,
            is_done: false,
        }
    }

    async fn next(
        &mut self,
        input: &mut (impl AsyncRead + Unpin),
        up: &mut [u8],
        output: &mut (impl AsyncWrite + Unpin),
        down: &mut [u8],
    ) -> Event<D::Io> {
        let may_send = self.ending.is_none();
        let takes_client =
            !self.session.is_over && self.up_bytes < ROOM_UP && self.up.len() < ROOM_UP_COUNT;
        let (mut opening, mut reading, mut writing) = (None, None, None);
        match &mut self.link {
            Link::Resting => {}
            Link::Opening(future) => opening = Some(future),
            Link::Open { reader, writer, .. } => {
                reading = Some(reader).filter(|_| self.out.waits() < ROOM_DOWN);
                let first = self.up.front().filter(|_| may_send);
                let first = first.map(|first| first.line.get(self.up_at..).unwrap_or_default());
                writing = first.map(|first| (writer, first));
            }
        }
        tokio::select! {
            read = input.read(up), if takes_client => Event::Client(read.unwrap_or(0)),
            read = read(reading, down) => Event::Daemon(read.unwrap_or(0)),
            wrote = write(writing) => Event::Sent(wrote.unwrap_or(0)),
            wrote = output.write(self.out.unwritten()), if self.out.waits() > 0 => match wrote {
                Ok(count @ 1..) => Event::Told(count),
                _ => Event::ClientGone,
            },
            opened = until_opened(opening) => Event::Opened(Box::new(opened)),
            () = until(self.deadline) => Event::Late,
        }
    }

    /// Tells the daemon that the client has said its last, once it has all of it.
    async fn close_when_over(&mut self) {
        if !self.session.is_over || !self.up.is_empty() {
            return;
        }
        if let Link::Open {
            writer, is_closed, ..
        } = &mut self.link
            && !std::mem::replace(is_closed, true)
        {
            // A connection that is broken is found out by reading it.
            let _closed = tokio::time::timeout(LAST, writer.shutdown()).await;
        }
    }
}

async fn read<R: AsyncRead + Unpin>(
    reader: Option<&mut R>,
    into: &mut [u8],
) -> std::io::Result<usize> {
    match reader {
        Some(reader) => reader.read(into).await,
        None => std::future::pending().await,
    }
}

async fn write<W: AsyncWrite + Unpin>(what: Option<(&mut W, &[u8])>) -> std::io::Result<usize> {
    match what {
        Some((writer, bytes)) => writer.write(bytes).await,
        None => std::future::pending().await,
    }
}

async fn until_opened<Io>(opening: Option<&mut Opening<'_, Io>>) -> Result<Opened<Io>, Trouble> {
    match opening {
        Some(opening) => opening.await,
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
