//! The way to the program: a line goes at once when nothing waits before it and the pipe takes it, else through the
//! queue of the task that writes. A switch of tasks costs more than the write.

use std::fs::File;
use std::io::{self, Write as _};

use super::letter::Letter;

/// Longer lines leave it to the task to write them, in bytes.
const AT_ONCE: usize = 64 * 1024;

/// Where lines go out.
#[derive(Debug, Default)]
pub(super) struct Door {
    /// The pipe a second time; it does not block.
    pipe: Option<File>,
    /// How many lines are in the queue, the one that is being written included.
    queued: usize,
}

/// What became of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Went {
    /// It is in the pipe, or was taken back before.
    Out,
    /// It has to go through the queue.
    Wait,
    /// Its beginning is in the pipe: this is left, and goes through the queue.
    Rest(Vec<u8>),
}

impl Door {
    /// Lines may go at once from now on.
    pub(super) fn open(&mut self, pipe: File) {
        self.pipe = Some(pipe);
    }

    /// Lets go of the pipe.
    pub(super) fn close(&mut self) {
        self.pipe = None;
    }

    /// A line was put into the queue.
    pub(super) fn queued(&mut self) {
        self.queued += 1;
    }

    /// A line of the queue is written, or given up.
    pub(super) fn written(&mut self) {
        self.queued = self.queued.saturating_sub(1);
    }

    /// Writes a line if it is its turn.
    ///
    /// # Errors
    /// When the program does not read any more. It got nothing of the line.
    pub(super) fn write(&mut self, letter: &Letter) -> io::Result<Went> {
        let Some(pipe) = self.pipe.as_mut().filter(|_| self.queued == 0) else {
            return Ok(Went::Wait);
        };
        let Some(mut line) = letter.take() else {
            return Ok(Went::Out);
        };
        if line.len() > AT_ONCE {
            return Ok(Went::Rest(line));
        }
        match pipe.write(&line) {
            Ok(written) if written >= line.len() => Ok(Went::Out),
            Ok(written) => Ok(Went::Rest(line.split_off(written))),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                Ok(Went::Rest(line))
            }
            Err(error) => {
                self.pipe = None;
                Err(error)
            }
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn door() -> (Door, std::io::PipeReader) {
        let (reader, writer) = io::pipe().unwrap();
        // As the runtime sets it for the pipe of a program.
        let writer = tokio::net::unix::pipe::Sender::from_owned_fd(writer.into()).unwrap();
        let mut door = Door::default();
        door.open(File::from(writer.into_nonblocking_fd().unwrap()));
        (door, reader)
    }

    #[tokio::test]
    async fn a_line_goes_at_once_only_when_nothing_waits_before_it() {
        let (mut door, mut reader) = door();
        let letter = |text: &str| Letter::new(text.as_bytes().to_vec());
        let first = letter("a\n");
        assert_eq!(door.write(&first).unwrap(), Went::Out);
        assert!(first.is_sent());
        door.queued();
        let second = letter("b\n");
        assert_eq!(door.write(&second).unwrap(), Went::Wait);
        assert!(!second.is_sent());
        door.written();
        let taken_back = letter("c\n");
        assert!(taken_back.withdraw());
        assert_eq!(door.write(&taken_back).unwrap(), Went::Out);
        assert_eq!(door.write(&second).unwrap(), Went::Out);
        door.close();
        let mut all = String::new();
        reader.read_to_string(&mut all).unwrap();
        assert_eq!(all, "a\nb\n");
    }

    #[tokio::test]
    async fn what_a_full_pipe_does_not_take_is_left_for_the_queue() {
        let (mut door, mut reader) = door();
        let mut sent = Vec::new();
        let rest = loop {
            let line = vec![b'x'; 48 * 1024];
            sent.extend_from_slice(&line);
            match door.write(&Letter::new(line)).unwrap() {
                Went::Out => {}
                Went::Rest(rest) => break rest,
                Went::Wait => unreachable!("nothing waits"),
            }
        };
        assert!(!rest.is_empty());
        door.close();
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert_eq!(all.len() + rest.len(), sent.len());
    }

    #[tokio::test]
    async fn a_program_that_does_not_read_any_more_gets_nothing() {
        let (mut door, reader) = door();
        drop(reader);
        assert!(door.write(&Letter::new(b"a\n".to_vec())).is_err());
        assert_eq!(
            door.write(&Letter::new(b"b\n".to_vec())).unwrap(),
            Went::Wait
        );
    }
}
