//! The commands that `find` and its likes run.

use super::{
    super::{
        Segment,
        word::{Input, Value, Word},
    },
    Unfold, closed,
};

impl Unfold<'_> {
    /// The commands after `-exec` and its likes.
    pub(super) fn find(
        &self,
        program: &str,
        arguments: &[Word],
        depth: usize,
        segments: &mut Vec<Segment>,
    ) -> Result<(), String> {
        let mut rest = arguments;
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            let runs = match program {
                "find" => matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"),
                _ => {
                    !word.text.starts_with("--")
                        && word.text.starts_with('-')
                        && word.text.contains(['x', 'X'])
                        || word.text.starts_with("--exec")
                }
            };
            if !runs {
                continue;
            }
            // A `+` ends a command only behind `{}`.
            let stop = (0..after.len()).find(|&at| match after[at].text.as_str() {
                ";" => true,
                "+" => at > 0 && after[at - 1].text == "{}",
                _ => false,
            });
            match stop {
                Some(stop) if stop > 0 && program == "find" => {
                    let mut inner = after[..stop].to_vec();
                    for word in &mut inner[1..] {
                        if word.text.contains("{}") {
                            word.value = word.value.max(Value::One);
                        }
                    }
                    let part = Unfold {
                        line: self.line,
                        end: inner[stop - 1].end,
                        lines: self.lines,
                    };
                    part.inner(program, &inner, &Input::Inherited, depth, segments)?;
                    rest = &after[stop + 1..];
                }
                _ => return Err(closed(program)),
            }
        }
        Ok(())
    }
}
