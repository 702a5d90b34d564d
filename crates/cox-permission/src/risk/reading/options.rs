//! Options: which are known, and what is left without them.

/// The options under which a program only reads.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// Letters that stand alone.
    pub(super) short: &'static str,
    /// Whole names, with or without `=value`.
    pub(super) long: &'static [&'static str],
    /// Letters that a value follows.
    pub(super) with_value: &'static str,
}

/// Options under which `rg` only reads: none that runs a program.
pub(super) const RG: Options = Options {
    short: "nilwvcoSsFHINpPqx0.LUuah1V",
    long: &[
        "files",
        "hidden",
        "glob",
        "iglob",
        "type",
        "type-not",
        "type-list",
        "no-ignore",
        "no-ignore-vcs",
        "no-ignore-parent",
        "line-number",
        "no-line-number",
        "ignore-case",
        "smart-case",
        "case-sensitive",
        "word-regexp",
        "line-regexp",
        "fixed-strings",
        "count",
        "count-matches",
        "files-with-matches",
        "files-without-match",
        "max-count",
        "context",
        "after-context",
        "before-context",
        "heading",
        "no-heading",
        "color",
        "with-filename",
        "no-filename",
        "column",
        "no-column",
        "json",
        "multiline",
        "multiline-dotall",
        "pcre2",
        "sort",
        "sortr",
        "stats",
        "trim",
        "vimgrep",
        "max-depth",
        "max-filesize",
        "max-columns",
        "only-matching",
        "replace",
        "regexp",
        "passthru",
        "invert-match",
        "null",
        "follow",
        "text",
        "binary",
        "version",
        "encoding",
        "one-file-system",
        "quiet",
        "unrestricted",
        "crlf",
        "no-messages",
        "no-config",
    ],
    with_value: "egtTABCmrjdEMf",
};

/// Says whether all options are known.
pub(super) fn only(arguments: &[String], options: Options) -> bool {
    let mut is_value = false;
    for word in arguments {
        if std::mem::take(&mut is_value) || word == "-" || !word.starts_with('-') {
            continue;
        }
        if word == "--" {
            return true;
        }
        if let Some(long) = word.strip_prefix("--") {
            if !options
                .long
                .contains(&long.split('=').next().unwrap_or(long))
            {
                return false;
            }
            continue;
        }
        for (at, letter) in word.char_indices().skip(1) {
            if options.with_value.contains(letter) {
                is_value = at + letter.len_utf8() == word.len();
                break;
            }
            if !options.short.contains(letter) {
                return false;
            }
        }
    }
    true
}

/// Returns the words that are neither options nor their values.
pub(super) fn operands<'a>(
    arguments: &'a [String],
    with_value: &'static str,
) -> impl Iterator<Item = &'a String> {
    let mut is_value = false;
    arguments.iter().filter(move |word| {
        let is_option = word.len() > 1 && word.starts_with('-');
        // In a cluster, programs differ on whether the last letter takes the next word: then it does not count as one.
        let takes_next =
            is_option && word.len() == 2 && word.ends_with(|letter| with_value.contains(letter));
        !std::mem::replace(&mut is_value, takes_next) && !is_option
    })
}
