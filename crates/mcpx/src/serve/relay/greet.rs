//! The handshake of the client, made again with a daemon that does not know it.

use std::time::Duration;

use mcp_wire::lines::{Line, Lines};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{LONGEST, Opened, PIECE};
use crate::exit::Failure;
use crate::serve::glance::{Glance, glance, members};
use crate::serve::session::Greeting;
use crate::serve::way::Trouble;

/// How long a daemon may take for it.
const GREETING: Duration = Duration::from_secs(30);

/// Makes the handshake of the client again, and checks that it is the same.
pub(super) async fn greet<Io: AsyncRead + AsyncWrite + Unpin>(
    mut io: Io,
    greeting: Option<Greeting>,
) -> Result<Opened<Io>, Trouble> {
    let mut lines = Lines::new(LONGEST);
    let Some(greeting) = greeting else {
        return Ok(Opened { io, lines });
    };
    let broken = |why: String| {
        let failure = Failure::failed(format!("the daemon was not taken up again: {why}"));
        Trouble::Unreachable(failure)
    };
    let exchange = async {
        io.write_all(&greeting.line).await?;
        io.flush().await?;
        let mut piece = vec![0; PIECE];
        loop {
            while let Some(line) = lines.next() {
                let Line::Whole(line) = line else { continue };
                let answer = glance(&line).into_iter().next();
                if let Some(Glance::Answer { id, result }) = answer
                    && id == greeting.id
                {
                    return Ok(members(result).string("protocolVersion"));
                }
            }
            match io.read(&mut piece).await? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                count => lines.push(piece.get(..count).unwrap_or_default()),
            }
        }
    };
    let answered: Result<std::io::Result<Option<String>>, _> =
        tokio::time::timeout(GREETING, exchange).await;
    match answered {
        Err(_) => Err(broken(format!(
            "no handshake within {} s",
            GREETING.as_secs()
        ))),
        Ok(Err(error)) => Err(broken(error.to_string())),
        Ok(Ok(Some(revision))) if revision == greeting.revision => Ok(Opened { io, lines }),
        Ok(Ok(revision)) => Err(broken(format!(
            "the client speaks revision {} with us, and the daemon now {}",
            greeting.revision,
            revision.unwrap_or_else(|| "none".to_owned())
        ))),
    }
}
