//! What a program left running when it ended, and what came of its being held to its limits.

/// Processes that a program had left behind and that were ended with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftBehind {
    /// How many there were.
    pub count: usize,
    /// The command lines of some of them, as they gave them themselves: at most [`LeftBehind::NAMES`], each cut at 256
    /// bytes. Foreign text.
    pub names: Vec<String>,
}

impl LeftBehind {
    /// Most names that are kept.
    pub const NAMES: usize = 8;

    /// Largest text of a report, in bytes: what a pipe takes at once.
    const MAX_REPORT: usize = 4096;

    /// Writes this as the report that a wrapping program gives: how many, then one name a line.
    pub fn to_report(&self) -> String {
        let mut report = format!("{}\n", self.count);
        for name in self.names.iter().take(Self::NAMES) {
            let name = name.replace(['\n', '\r', '\0'], " ");
            if report.len() + name.len() + 1 > Self::MAX_REPORT {
                break;
            }
            report.push_str(&name);
            report.push('\n');
        }
        report
    }

    /// Reads a report; none when it is none.
    pub fn from_report(report: &str) -> Option<Self> {
        let mut lines = report.lines();
        let count = lines.next()?.parse().ok()?;
        let names = lines.take(Self::NAMES).map(ToOwned::to_owned).collect();
        Some(Self { count, names })
    }
}

#[cfg(test)]
mod tests {
    use super::LeftBehind;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let left = LeftBehind {
            count: 12,
            names: vec!["sleep 1000".to_owned(), "ä b".to_owned()],
        };
        assert_eq!(LeftBehind::from_report(&left.to_report()), Some(left));
        let odd = LeftBehind {
            count: 1,
            names: vec!["a\n9\nb".to_owned()],
        };
        let read = LeftBehind::from_report(&odd.to_report()).unwrap();
        assert_eq!(read.names, ["a 9 b"]);
        for none in ["", "x\n", "-1\n"] {
            assert_eq!(LeftBehind::from_report(none), None, "{none:?}");
        }
    }
}
