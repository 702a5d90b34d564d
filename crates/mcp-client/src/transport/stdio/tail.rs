//! The last lines of a stream, in bounded memory.

/// How much is kept.
const BYTES: usize = 8 * 1024;
/// How many lines are shown.
const LINES: usize = 20;

/// The last bytes of what was pushed.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: std::collections::VecDeque<u8>,
    cut: bool,
}

impl Tail {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let bytes = if bytes.len() > BYTES {
            self.cut = true;
            self.bytes.clear();
            &bytes[bytes.len() - BYTES..]
        } else {
            bytes
        };
        let over = (self.bytes.len() + bytes.len()).saturating_sub(BYTES);
        if over > 0 {
            self.cut = true;
            self.bytes.drain(..over);
        }
        self.bytes.extend(bytes);
    }

    /// The last lines, whole ones where they fit; bytes that are no UTF-8 are replaced.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let mut text = text.trim_end();
        if self.cut {
            // The first line is a piece of one.
            text = text.split_once('\n').map_or(text, |(_, rest)| rest);
        }
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_lines_are_kept() {
        let mut tail = Tail::default();
        for number in 0..10_000 {
            tail.push(format!("line {number} \u{e9}\n").as_bytes());
        }
        let text = tail.text();
        assert_eq!(text.lines().count(), LINES);
        assert!(text.starts_with("line 9980 \u{e9}\n") && text.ends_with("line 9999 \u{e9}"));
        tail.push(&vec![b'x'; 100_000]);
        assert_eq!(tail.text().len(), BYTES);
    }
}
