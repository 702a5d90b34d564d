//! Character references.

use std::borrow::Cow;

/// The named references that pages use; the standard has two thousand more.
const NAMED: &[(&str, &str)] = &[
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", "\u{a0}"),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("hellip", "…"),
    ("mdash", "—"),
    ("ndash", "–"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("bull", "•"),
    ("middot", "·"),
    ("sect", "§"),
    ("para", "¶"),
    ("deg", "°"),
    ("plusmn", "±"),
    ("times", "×"),
    ("divide", "÷"),
    ("frac12", "½"),
    ("micro", "µ"),
    ("larr", "←"),
    ("rarr", "→"),
    ("uarr", "↑"),
    ("darr", "↓"),
    ("harr", "↔"),
    ("rArr", "⇒"),
    ("le", "≤"),
    ("ge", "≥"),
    ("ne", "≠"),
    ("infin", "∞"),
    ("euro", "€"),
    ("pound", "£"),
    ("yen", "¥"),
    ("cent", "¢"),
    ("shy", ""),
    ("auml", "ä"),
    ("ouml", "ö"),
    ("uuml", "ü"),
    ("Auml", "Ä"),
    ("Ouml", "Ö"),
    ("Uuml", "Ü"),
    ("szlig", "ß"),
    ("eacute", "é"),
    ("egrave", "è"),
    ("ecirc", "ê"),
    ("agrave", "à"),
    ("aacute", "á"),
    ("acirc", "â"),
    ("iacute", "í"),
    ("oacute", "ó"),
    ("uacute", "ú"),
    ("ntilde", "ñ"),
    ("ccedil", "ç"),
    ("check", "✓"),
    ("lbrace", "{"),
    ("rbrace", "}"),
    ("lbrack", "["),
    ("rbrack", "]"),
    ("lpar", "("),
    ("rpar", ")"),
    ("colon", ":"),
    ("semi", ";"),
    ("comma", ","),
    ("period", "."),
    ("sol", "/"),
    ("bsol", "\\"),
    ("lowbar", "_"),
    ("num", "#"),
    ("dollar", "$"),
    ("percnt", "%"),
    ("ast", "*"),
    ("plus", "+"),
    ("equals", "="),
    ("quest", "?"),
    ("excl", "!"),
    ("commat", "@"),
    ("Hat", "^"),
    ("grave", "`"),
    ("vert", "|"),
    ("Tab", "\t"),
    ("NewLine", "\n"),
    ("zwj", ""),
    ("zwnj", ""),
    ("ensp", " "),
    ("emsp", " "),
    ("thinsp", " "),
    ("lambda", "λ"),
    ("pi", "π"),
    ("mu", "μ"),
    ("alpha", "α"),
    ("beta", "β"),
    ("Delta", "Δ"),
];

/// Longest reference that is looked at, without `&` and `;`.
const MAX_LEN: usize = 12;

/// Replaces character references; what is none stays as it is.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let len = after
            .bytes()
            .take(MAX_LEN)
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'#')
            .count();
        let is_ended = after.as_bytes().get(len) == Some(&b';');
        match reference(&after[..len]).filter(|_| is_ended) {
            Some(decoded) => {
                out.push_str(&decoded);
                rest = &after[len + 1..];
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn reference(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else {
        return NAMED
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| (*text).to_owned());
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    let char = char::from_u32(code.ok()?)
        .filter(|&char| char != '\0')
        .unwrap_or('\u{fffd}');
    Some(char.to_string())
}
