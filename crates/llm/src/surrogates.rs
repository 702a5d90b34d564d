//! Joins characters that a server cut in half.
//!
//! Servers that cut text by UTF-16 units send a character beyond the first 65,536 as two halves, each escaped
//! in an event of its own. Such an escape is no JSON string to strict readers, so the halves are joined before.

/// Joins halves over the events of a stream.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    /// The first half that waits for its second, as four hexadecimal digits.
    high: Option<String>,
}

impl Joiner {
    /// Returns the data of an event without lone halves; nothing when there was none. A first half moves to the second
    /// one in the next event; a second half without a first becomes U+FFFD.
    pub(crate) fn join(&mut self, data: &str) -> Option<String> {
        if !has_half(data) {
            // The half that waited meant another event.
            return None;
        }
        let mut out = String::with_capacity(data.len() + 12);
        let mut rest = data;
        while let Some(at) = rest.find('\\') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            match (half(rest), half(rest.get(6..).unwrap_or_default())) {
                (Some(Half::High), Some(Half::Low)) => {
                    out.push_str(&rest[..12]);
                    rest = &rest[12..];
                }
                (Some(Half::High), _) => {
                    self.high = Some(rest[2..6].to_owned());
                    rest = &rest[6..];
                }
                (Some(Half::Low), _) => {
                    match self.high.take() {
                        Some(high) => {
                            out.push_str("\\u");
                            out.push_str(&high);
                            out.push_str(&rest[..6]);
                        }
                        None => out.push_str("\\ufffd"),
                    }
                    rest = &rest[6..];
                }
                (None, _) => {
                    // An escape is two bytes here, whatever it escapes; a cut one is for the JSON reader to refuse.
                    let end = rest
                        .char_indices()
                        .nth(2)
                        .map_or(rest.len(), |(index, _)| index);
                    out.push_str(&rest[..end]);
                    rest = &rest[end..];
                }
            }
        }
        out.push_str(rest);
        Some(out)
    }
}

enum Half {
    High,
    Low,
}

fn has_half(data: &str) -> bool {
    data.contains("\\ud") || data.contains("\\uD")
}

/// Reads the escape at the start of `text`, if it is one of half a character.
fn half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    match u32::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(events: &[&str], expect: &[&str]) {
        let mut joiner = Joiner::default();
        let found: Vec<String> = events
            .iter()
            .map(|event| joiner.join(event).unwrap_or_else(|| (*event).to_owned()))
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn halves_in_two_events_become_one_character() {
        check(
            &[r#""a\ud83d""#, r#""\uDE00b""#],
            &[r#""a""#, r#""\ud83d\uDE00b""#],
        );
        check(&[r#""\ud83d\ude00""#], &[r#""\ud83d\ude00""#]);
        check(&[r#""\ude00""#], &[r#""\ufffd""#]);
        check(
            &[r#""a\ud83d""#, r#"{}"#, r#""\ude00""#],
            &[r#""a""#, r"{}", r#""\ud83d\ude00""#],
        );
    }

    #[test]
    fn an_escaped_backslash_is_no_escape() {
        check(&[r#""\\ud83d""#], &[r#""\\ud83d""#]);
        check(&[r#""\\\ud83d""#], &[r#""\\""#]);
        check(&[r#""\ud8"#], &[r#""\ud8"#]);
        check(&["\\ud83d\\é\\"], &["\\é\\"]);
    }

    proptest! {
        #[test]
        fn what_is_joined_is_json_whatever_was_cut(text in "[a-z\u{1f600}\u{1f9d1}\\\\\"é]{0,12}", cut in 0usize..24) {
            let units: Vec<u16> = text.encode_utf16().collect();
            let cut = cut.min(units.len());
            let escaped = |units: &[u16]| {
                let units: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
                format!("\"{units}\"")
            };
            let mut joiner = Joiner::default();
            let whole: String = [&units[..cut], &units[cut..]]
                .map(|part| {
                    let part = escaped(part);
                    let part = joiner.join(&part).unwrap_or(part);
                    serde_json::from_str::<String>(&part).unwrap()
                })
                .concat();
            prop_assert_eq!(whole, text);
        }
    }
}
