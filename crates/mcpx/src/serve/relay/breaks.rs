//! From one connection to the next: what is taken along, and when none is looked for.

use std::time::Duration;

use mcpx_api::pipe::Ending;
use tokio::time::Instant;

use super::greet::greet;
use super::{Link, Opened, Relay};
use crate::exit::Failure;
use crate::serve::way::{After, Trouble, Way};

/// Why the client gets no answer from a daemon that was connected.
const BROKE: &str = "the hub's daemon ended while this was under way";
const LATE: &str = "the hub's daemon did not answer before the time for open work was over";

impl<D: Way> Relay<'_, D> {
    /// The connection is over. What did not reach the daemon goes to the next one.
    pub(super) fn broke(&mut self) {
        self.link = Link::Resting;
        if std::mem::take(&mut self.up_at) > 0
            && let Some(first) = self.up.front()
        {
            // Half a message is none.
            self.session.unsend(&first.ids);
        }
        self.sent = 0;
        self.up.retain(|message| !message.is_bound);
        let ending = self.ending.take();
        let (again, lines) = self.session.broke(ending.map(|ending| ending.taken), BROKE);
        for line in &lines {
            self.out.push(line);
        }
        for message in again.into_iter().rev() {
            self.up.push_front(message);
        }
        self.count();
        self.go_on(ending);
    }

    /// Whether there is something for a daemon, and where it is looked for.
    pub(super) fn go_on(&mut self, ending: Option<Ending>) {
        let is_wanted = self.up.iter().any(|message| message.is_wanted);
        if self.session.is_over && !is_wanted {
            self.is_done = true;
            return;
        }
        match ending {
            Some(ending) => {
                self.pace.ended();
                if ending.restart {
                    self.open(Duration::ZERO, After::Restart);
                } else if is_wanted {
                    self.open(Duration::ZERO, After::Rest);
                } else {
                    self.way.note("note: the daemon ended; another one is started when the client asks for something");
                }
            }
            None => match self.pace.broke() {
                Some(pause) => self.open(pause, After::Break),
                None => {
                    let why = format!(
                        "the hub's daemon ended {} times in a row soon after it was reached",
                        self.pace.breaks()
                    );
                    self.way.note(&format!("error: {why}\nhint: its log says why: `mcpx log`, or `daemon.log` beside it"));
                    self.pace.failed();
                    self.give_up(&why);
                }
            },
        }
    }

    pub(super) fn open(&mut self, pause: Duration, after: After) {
        let (way, greeting) = (self.way, self.session.greeting());
        self.link = Link::Opening(Box::pin(async move {
            tokio::time::sleep(pause).await;
            let io = way.open(after).await?;
            greet(io, greeting).await
        }));
    }

    pub(super) fn opened(&mut self, opened: Result<Opened<D::Io>, Trouble>) -> Result<(), Failure> {
        let Opened { io, lines } = match opened {
            Ok(opened) => opened,
            Err(Trouble::Refused(failure)) if !self.was_connected => return Err(failure),
            Err(Trouble::Refused(failure) | Trouble::Unreachable(failure)) => {
                self.pace.failed();
                self.link = Link::Resting;
                let message = failure.error.message;
                let hints = failure.error.hint.unwrap_or_default();
                let hints: String = hints
                    .lines()
                    .map(|hint| format!("\nhint: {hint}"))
                    .collect();
                self.way.note(&format!("error: {message}{hints}"));
                self.give_up(&format!(
                    "the hub's daemon cannot be reached: {message}{hints}"
                ));
                return Ok(());
            }
        };
        let (reader, writer) = tokio::io::split(io);
        self.link = Link::Open {
            reader,
            writer,
            lines,
            is_closed: false,
        };
        self.pace.connected();
        if self.was_connected {
            self.way.note("note: connected to the daemon again");
            for message in self.session.replay().into_iter().rev() {
                self.up.push_front(message);
            }
            self.count();
            for line in self.session.missed() {
                self.out.push(&line);
            }
        }
        self.was_connected = true;
        if self.session.is_over {
            self.deadline.get_or_insert(Instant::now() + self.drain);
        }
        self.pass_down();
        Ok(())
    }

    /// No daemon for now: what is open is answered, and the next request looks for one again.
    pub(super) fn give_up(&mut self, why: &str) {
        for line in self.session.lose(true, why) {
            self.out.push(&line);
        }
        self.up
            .retain(|message| !message.is_bound && !message.is_wanted);
        self.count();
        self.is_done = self.session.is_over;
    }

    pub(super) fn late(&mut self) {
        for line in self.session.lose(false, LATE) {
            self.out.push(&line);
        }
        self.is_done = true;
    }
}
