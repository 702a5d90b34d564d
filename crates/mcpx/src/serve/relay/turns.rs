//! One message after the other, up and down.

use mcp_wire::lines::Line;
use tokio::time::Instant;

use super::{Link, Relay};
use crate::serve::ledger::Outgoing;
use crate::serve::session::{Down, Up};
use crate::serve::way::{After, Way};

impl<D: Way> Relay<'_, D> {
    pub(super) fn take_client(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            self.lines.finish();
            self.session.is_over = true;
            if matches!(self.link, Link::Open { .. }) {
                self.deadline = Some(Instant::now() + self.drain);
            }
        } else {
            self.lines.push(bytes);
        }
        while let Some(line) = self.lines.next() {
            let is_connected = !matches!(self.link, Link::Resting);
            let all = match line {
                Line::Whole(line) => self.session.take_from_client(line, is_connected),
                Line::TooLong(line) => vec![self.session.too_long(&line)],
            };
            for one in all {
                self.go_up(one);
            }
        }
        if self.session.is_over && matches!(self.link, Link::Resting) {
            self.is_done = true;
        }
    }

    pub(super) fn go_up(&mut self, up: Up) {
        match up {
            Up::Send(message) => {
                if matches!(self.link, Link::Resting) {
                    if !message.is_wanted {
                        return;
                    }
                    let pause = self.pace.wanted();
                    self.open(pause, After::Rest);
                }
                self.up_bytes += message.line.len();
                self.up.push_back(message);
            }
            Up::Answer(line) => self.out.push(&line),
            Up::Withdraw(id) => {
                let is_it = |message: &Outgoing| message.ids == [id.clone()];
                // What began to be written is written to its end.
                let keeps_first = self.up_at > 0;
                let mut at = 0;
                self.up.retain(|message| {
                    at += 1;
                    (at == 1 && keeps_first) || !is_it(message)
                });
                self.count();
            }
            Up::Nothing => {}
        }
    }

    pub(super) fn take_daemon(&mut self, bytes: &[u8]) {
        let Link::Open { lines, .. } = &mut self.link else {
            return;
        };
        if bytes.is_empty() {
            return self.broke();
        }
        lines.push(bytes);
        self.pass_down();
    }

    pub(super) fn pass_down(&mut self) {
        while let Link::Open { lines, .. } = &mut self.link
            && let Some(line) = lines.next()
        {
            let (line, down) = match line {
                Line::Whole(line) => {
                    let down = self.session.take_from_daemon(&line);
                    (line, down)
                }
                Line::TooLong(line) => (Vec::new(), self.session.too_long_for_client(&line)),
            };
            match down {
                Down::Pass => {
                    self.out.push(&line);
                    self.out.push(b"\n");
                }
                Down::Instead(lines) => lines.iter().for_each(|line| self.out.push(line)),
                Down::Ending(ending) => self.ending = Some(ending),
            }
        }
    }

    pub(super) fn sent(&mut self, count: usize) {
        if count == 0 {
            return self.broke();
        }
        let Some(first) = self.up.front() else { return };
        if self.up_at == 0 {
            self.sent += 1;
            self.session.send(first, self.sent);
        }
        self.up_at += count;
        if self.up_at >= first.line.len() {
            self.up.pop_front();
            self.up_at = 0;
            self.count();
        }
    }

    pub(super) fn count(&mut self) {
        self.up_bytes = self.up.iter().map(|message| message.line.len()).sum();
    }
}
