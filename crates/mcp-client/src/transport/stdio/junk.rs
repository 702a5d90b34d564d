//! What a program wrote to its standard output that is no use to anybody: counted, and quoted in failures.

/// What was seen until now.
#[derive(Default)]
pub(super) struct Junk {
    pub(super) first: Option<String>,
    pub(super) lines: usize,
    pub(super) in_a_row: usize,
    /// Messages that belong to nothing: how many, and the last one.
    pub(super) unclaimed: usize,
    pub(super) last_unclaimed: Option<String>,
    /// How long the line is that is being skipped, because it is over the limit.
    pub(super) endless: Option<u64>,
}

impl Junk {
    /// What was wrong with the standard output, in words; a line each.
    pub(super) fn in_words(&self) -> String {
        let mut text = String::new();
        if let Some(first) = &self.first {
            let lines = match self.lines {
                1 => "1 line that is no message".to_owned(),
                lines => format!("{lines} lines that are no messages, the first"),
            };
            text.push_str(&format!("(on its stdout: {lines}: {first})\n"));
        }
        if let Some(last) = &self.last_unclaimed {
            let messages = match self.unclaimed {
                1 => "1 message that belongs to nothing".to_owned(),
                messages => format!("{messages} messages that belong to nothing, the last"),
            };
            text.push_str(&format!("(on its stdout: {messages}: {last})\n"));
        }
        if let Some(bytes) = self.endless {
            text.push_str(&format!(
                "(on its stdout: a line of {bytes} bytes that has not ended)\n"
            ));
        }
        text
    }
}
