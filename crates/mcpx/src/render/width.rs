//! How many columns of a terminal a text takes, and a text cut to columns.
//!
//! East Asian wide characters and emoji take two, marks that stand on another character none. The table holds what tools
//! and their descriptions are written in; a rare script that is missing costs the alignment of a line and nothing else.

/// Characters that take no column: marks over, under and in others, joiners, variation selectors.
const NONE: &[(u32, u32)] = &[
    (0x0300, 0x036f),
    (0x0483, 0x0489),
    (0x0591, 0x05bd),
    (0x05bf, 0x05bf),
    (0x05c1, 0x05c2),
    (0x05c4, 0x05c5),
    (0x05c7, 0x05c7),
    (0x0610, 0x061a),
    (0x064b, 0x065f),
    (0x0670, 0x0670),
    (0x06d6, 0x06dc),
    (0x06df, 0x06e4),
    (0x06e7, 0x06e8),
    (0x06ea, 0x06ed),
    (0x0711, 0x0711),
    (0x0730, 0x074a),
    (0x0900, 0x0902),
    (0x093a, 0x093a),
    (0x093c, 0x093c),
    (0x0941, 0x0948),
    (0x094d, 0x094d),
    (0x0951, 0x0957),
    (0x0962, 0x0963),
    (0x0981, 0x0981),
    (0x09bc, 0x09bc),
    (0x09c1, 0x09c4),
    (0x09cd, 0x09cd),
    (0x0a3c, 0x0a3c),
    (0x0a41, 0x0a4d),
    (0x0bcd, 0x0bcd),
    (0x0c4d, 0x0c4d),
    (0x0e31, 0x0e31),
    (0x0e34, 0x0e3a),
    (0x0e47, 0x0e4e),
    (0x0eb1, 0x0eb1),
    (0x0eb4, 0x0ebc),
    (0x0ec8, 0x0ecd),
    (0x1ab0, 0x1aff),
    (0x1dc0, 0x1dff),
    (0x200b, 0x200f),
    (0x20d0, 0x20ff),
    (0x302a, 0x302d),
    (0x3099, 0x309a),
    (0xfe00, 0xfe0f),
    (0xfe20, 0xfe2f),
    (0x1f3fb, 0x1f3ff),
    (0xe0100, 0xe01ef),
];

/// Characters that take two columns.
const TWO: &[(u32, u32)] = &[
    (0x1100, 0x115f),
    (0x231a, 0x231b),
    (0x2329, 0x232a),
    (0x23e9, 0x23ec),
    (0x23f0, 0x23f0),
    (0x23f3, 0x23f3),
    (0x25fd, 0x25fe),
    (0x2614, 0x2615),
    (0x2648, 0x2653),
    (0x267f, 0x267f),
    (0x2693, 0x2693),
    (0x26a1, 0x26a1),
    (0x26aa, 0x26ab),
    (0x26bd, 0x26be),
    (0x26c4, 0x26c5),
    (0x26ce, 0x26ce),
    (0x26d4, 0x26d4),
    (0x26ea, 0x26ea),
    (0x26f2, 0x26f3),
    (0x26f5, 0x26f5),
    (0x26fa, 0x26fa),
    (0x26fd, 0x26fd),
    (0x2705, 0x2705),
    (0x270a, 0x270b),
    (0x2728, 0x2728),
    (0x274c, 0x274c),
    (0x274e, 0x274e),
    (0x2753, 0x2755),
    (0x2757, 0x2757),
    (0x2795, 0x2797),
    (0x27b0, 0x27b0),
    (0x27bf, 0x27bf),
    (0x2b1b, 0x2b1c),
    (0x2b50, 0x2b50),
    (0x2b55, 0x2b55),
    (0x2e80, 0x303e),
    (0x3041, 0x4dbf),
    (0x4e00, 0xa4cf),
    (0xa960, 0xa97c),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe10, 0xfe19),
    (0xfe30, 0xfe6f),
    (0xff01, 0xff60),
    (0xffe0, 0xffe6),
    (0x16fe0, 0x18cff),
    (0x1aff0, 0x1b2ff),
    (0x1f004, 0x1f004),
    (0x1f0cf, 0x1f0cf),
    (0x1f18e, 0x1f18e),
    (0x1f191, 0x1f19a),
    (0x1f200, 0x1f320),
    (0x1f32d, 0x1f335),
    (0x1f337, 0x1f37c),
    (0x1f37e, 0x1f393),
    (0x1f3a0, 0x1f3ca),
    (0x1f3cf, 0x1f3d3),
    (0x1f3e0, 0x1f3f0),
    (0x1f3f4, 0x1f3f4),
    (0x1f3f8, 0x1f43e),
    (0x1f440, 0x1f440),
    (0x1f442, 0x1f4fc),
    (0x1f4ff, 0x1f53d),
    (0x1f54b, 0x1f54e),
    (0x1f550, 0x1f567),
    (0x1f57a, 0x1f57a),
    (0x1f595, 0x1f596),
    (0x1f5a4, 0x1f5a4),
    (0x1f5fb, 0x1f64f),
    (0x1f680, 0x1f6c5),
    (0x1f6cc, 0x1f6cc),
    (0x1f6d0, 0x1f6d2),
    (0x1f6d5, 0x1f6d7),
    (0x1f6dc, 0x1f6df),
    (0x1f6eb, 0x1f6ec),
    (0x1f6f4, 0x1f6fc),
    (0x1f7e0, 0x1f7eb),
    (0x1f7f0, 0x1f7f0),
    (0x1f90c, 0x1f93a),
    (0x1f93c, 0x1f945),
    (0x1f947, 0x1f9ff),
    (0x1fa70, 0x1faff),
    (0x20000, 0x3fffd),
];

fn is_in(char: char, ranges: &[(u32, u32)]) -> bool {
    let code = u32::from(char);
    ranges
        .binary_search_by(|(from, to)| {
            if *to < code {
                std::cmp::Ordering::Less
            } else if *from > code {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

/// The columns of one character.
fn of_char(char: char) -> usize {
    match char {
        ' '..='~' => 1,
        _ if is_in(char, NONE) => 0,
        _ if is_in(char, TWO) => 2,
        _ => 1,
    }
}

/// How many columns a text of one line takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(of_char).sum()
}

/// A text of one line in at most so many columns; one that is longer ends in `…`, which counts.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let mut cut = String::new();
    for char in text.chars() {
        let Some(left) = room.checked_sub(of_char(char)) else {
            break;
        };
        room = left;
        cut.push(char);
    }
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// A text with spaces behind it up to so many columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

/// How wide columns are made whose text needs `natural`, when a line has `room`, two spaces between them. The column
/// `kept`, which holds what people type, gives way last.
pub(super) fn shared(natural: &[usize], room: usize, kept: usize) -> Vec<usize> {
    let gaps = 2 * natural.len().saturating_sub(1);
    let room = room.saturating_sub(gaps);
    if natural.iter().sum::<usize>() <= room {
        return natural.to_vec();
    }
    let most = |at: usize, cap: usize| natural[at].min(cap);
    let own = natural.get(kept).copied().unwrap_or_default();
    let others = |cap: usize| -> usize {
        (0..natural.len())
            .filter(|at| *at != kept)
            .map(|at| most(at, cap))
            .sum()
    };
    // Narrower than this, a column says nothing.
    const LEAST: usize = 8;
    let own = own.min(room.saturating_sub(others(LEAST)).max(LEAST));
    let left = room.saturating_sub(own);
    let widest = natural.iter().copied().max().unwrap_or_default();
    let cap = (1..=widest)
        .rev()
        .find(|cap| others(*cap) <= left)
        .unwrap_or(1);
    (0..natural.len())
        .map(|at| if at == kept { own } else { most(at, cap) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        for (text, columns) in [
            ("", 0),
            ("abc", 3),
            ("日本", 4),
            ("한글", 4),
            ("ｆｕｌｌ", 8),
            ("e\u{301}", 1),
            ("…é", 2),
            ("🚀 go", 5),
            ("👍🏽", 2),
            ("नमस्ते", 4),
        ] {
            assert_eq!(width(text), columns, "{text}");
        }
        for ranges in [NONE, TWO] {
            assert!(ranges.iter().all(|(from, to)| from <= to));
            assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }

    #[test]
    fn a_text_is_cut_between_characters_and_never_too_long() {
        assert_eq!(fitted("abcdef", 6), "abcdef");
        assert_eq!(fitted("abcdefg", 6), "abcde…");
        assert_eq!(fitted("日本語", 5), "日本…");
        assert_eq!(fitted("日本語", 4), "日…");
        assert_eq!(fitted("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(fitted("abc", 0), "");
        assert_eq!(padded("日", 4), "日  ");
    }

    #[test]
    fn what_is_typed_is_cut_last_and_the_others_share_what_is_left() {
        assert_eq!(shared(&[9, 5, 7, 300], 80, 0), [9, 5, 7, 53]);
        assert_eq!(shared(&[40, 90], 80, 0), [40, 38]);
        assert_eq!(shared(&[16, 60, 20, 50], 80, 1), [8, 50, 8, 8]);
        assert_eq!(shared(&[3, 4], 80, 0), [3, 4]);
        for room in 0..40 {
            let widths = shared(&[12, 30, 5, 60], room, 0);
            assert_eq!(widths.len(), 4);
            assert!(widths.iter().all(|width| *width > 0));
        }
    }
}
