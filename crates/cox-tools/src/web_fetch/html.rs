//! Turns a web page into text that reads well: headings, paragraphs, lists, code, tables and links.
//!
//! A walk over tags that forgives what browsers forgive; it builds no tree, runs nothing and never fails. Time and memory
//! grow with the length of the page alone.

use url::Url;

mod entities;
mod tags;

use tags::{Token, tokens};

/// Elements whose content is no text of the page, whatever else is there.
const NEVER_SHOWN: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "iframe", "head", "title", "object",
];

/// Elements around the text of a page.
const AROUND: &[&str] = &[
    "nav", "header", "footer", "aside", "form", "button", "select", "dialog",
];

/// Elements that stand on lines of their own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "html",
    "main",
    "nav",
    "ol",
    "p",
    "section",
    "summary",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "ul",
];

/// Returns the title and the text of a page. Links are resolved against `base`.
pub(crate) fn to_text(html: &str, base: &Url) -> String {
    let tokens = tokens(html);
    let title = title(&tokens);
    let main = ["main", "article"]
        .into_iter()
        .find_map(|name| element(&tokens, name))
        .unwrap_or(&tokens);
    let mut text = render(main, base, true);
    // A page whose text stands where other pages have their menus.
    if text.is_empty() {
        text = render(&tokens, base, false);
    }
    match title {
        Some(title) if !text.starts_with(&format!("# {title}\n")) => format!("{title}\n\n{text}"),
        _ => text,
    }
}

fn title(tokens: &[Token<'_>]) -> Option<String> {
    let start = tokens
        .iter()
        .position(|token| matches!(token, Token::Start { name, .. } if name == "title"))?;
    match tokens.get(start + 1)? {
        Token::Text(text) => {
            Some(squeeze(&entities::decode(text))).filter(|title| !title.is_empty())
        }
        _ => None,
    }
}

/// Returns the first element of a name with all that is in it.
fn element<'a, 'h>(tokens: &'a [Token<'h>], wanted: &str) -> Option<&'a [Token<'h>]> {
    let start = tokens
        .iter()
        .position(|token| matches!(token, Token::Start { name, .. } if name == wanted))?;
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token {
            Token::Start { name, .. } if name == wanted => depth += 1,
            Token::End { name } if name == wanted => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Some(&tokens[start..=at]);
        }
    }
    Some(&tokens[start..])
}

fn render(tokens: &[Token<'_>], base: &Url, skips_around: bool) -> String {
    let mut page = Page::default();
    // The element that is skipped and how often it is open.
    let mut skipped: Option<(&str, usize)> = None;
    for token in tokens {
        if let Some((name, depth)) = &mut skipped {
            match token {
                Token::Start {
                    name: own,
                    is_closed: false,
                    ..
                } if own == name => *depth += 1,
                Token::End { name: own } if own == name => *depth -= 1,
                // An element that was never closed must not swallow the page.
                Token::Start { name: own, .. }
                    if matches!(own.as_str(), "main" | "article" | "body") =>
                {
                    *depth = 0;
                }
                _ => {}
            }
            if *depth > 0 {
                continue;
            }
            skipped = None;
            if matches!(token, Token::End { .. }) {
                page.block();
                continue;
            }
        }
        match token {
            Token::Start {
                name, is_closed, ..
            } if NEVER_SHOWN.contains(&name.as_str())
                || (skips_around && AROUND.contains(&name.as_str())) =>
            {
                if !is_closed {
                    skipped = Some((name, 1));
                }
            }
            Token::Start { name, href, .. } => page.start(name, href.as_deref(), base),
            Token::End { name } => page.end(name),
            Token::Text(text) => page.text(&entities::decode(text)),
        }
    }
    page.finish()
}

/// The text so far.
#[derive(Default)]
struct Page {
    out: String,
    /// Line breaks that come before the next text.
    breaks: usize,
    /// Whether white space comes before the next text of the line.
    has_space: bool,
    /// What begins the next line: the mark of a list item or heading.
    mark: String,
    /// Open lists: the number of the next item, or none for a list without numbers.
    lists: Vec<Option<usize>>,
    /// Open `pre` elements.
    pre: usize,
    /// Open pieces of code within a line; none goes beyond its block.
    quotes: usize,
    /// Open links: where their text begins and where they lead.
    links: Vec<(usize, String)>,
    /// Cells so far in the row.
    cells: usize,
}

impl Page {
    fn start(&mut self, name: &str, href: Option<&str>, base: &Url) {
        match name {
            "br" => self.line(),
            "hr" => self.block(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.block();
                self.mark = format!("{} ", "#".repeat(usize::from(name.as_bytes()[1] - b'0')));
            }
            "ul" | "menu" => self.open_list(None),
            "ol" => self.open_list(Some(1)),
            "li" => {
                self.line();
                let indent = "  ".repeat(self.lists.len().saturating_sub(1));
                self.mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{indent}{}. ", *number - 1)
                    }
                    _ => format!("{indent}- "),
                };
            }
            "pre" => {
                self.block();
                if self.pre == 0 {
                    self.put("```");
                    self.line();
                }
                self.pre += 1;
            }
            "code" | "kbd" | "samp" if self.pre == 0 => self.open_quote(),
            "tr" => {
                self.line();
                self.cells = 0;
            }
            "td" | "th" => {
                if self.cells > 0 {
                    self.put(" |");
                    self.has_space = true;
                }
                self.cells += 1;
            }
            "a" if self.pre == 0 => {
                let target = href.and_then(|href| base.join(&entities::decode(href)).ok());
                let target = target.filter(|url| {
                    // A place on this very page leads nowhere new.
                    let mut page = url.clone();
                    page.set_fragment(base.fragment());
                    matches!(url.scheme(), "http" | "https") && page != *base
                });
                self.settle();
                self.links
                    .push((self.out.len(), target.map(String::from).unwrap_or_default()));
            }
            _ if BLOCKS.contains(&name) => self.block(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.mark.clear();
                self.block();
            }
            "ul" | "ol" | "menu" => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.block();
                } else {
                    self.line();
                }
            }
            "li" | "tr" => {
                self.mark.clear();
                self.line();
            }
            "pre" if self.pre > 0 => {
                self.pre -= 1;
                if self.pre == 0 {
                    let len = self.out.trim_end_matches(['\n', ' ', '\t']).len();
                    self.out.truncate(len);
                    self.out.push_str("\n```");
                    self.breaks = 2;
                }
            }
            "code" | "kbd" | "samp" if self.pre == 0 => self.close_quote(),
            "a" => {
                let Some((start, target)) = self.links.pop() else {
                    return;
                };
                // The text of the link may have been cut away with the end of a code block.
                let text = self.out.get(start..).map(str::trim).unwrap_or_default();
                if !target.is_empty() && !text.is_empty() && text != target {
                    self.out.push_str(&format!(" ({target})"));
                }
            }
            _ if BLOCKS.contains(&name) => self.block(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.pre > 0 {
            let text = text.replace("\r\n", "\n");
            // The line break right after `<pre>` is not part of it.
            let text = if self.breaks > 0 {
                text.strip_prefix('\n').unwrap_or(&text)
            } else {
                &text
            };
            if !text.is_empty() {
                self.settle();
                self.out.push_str(text);
            }
            return;
        }
        for (at, word) in text
            .split([' ', '\t', '\n', '\r', '\x0c', '\u{a0}'])
            .enumerate()
        {
            self.has_space |= at > 0;
            if !word.is_empty() {
                self.put(word);
            }
        }
    }

    /// Writes the breaks, marks and spaces that stand before the next text.
    fn settle(&mut self) {
        if self.breaks > 0 {
            if !self.out.is_empty() {
                self.out.push_str(&"\n".repeat(self.breaks));
            }
            self.breaks = 0;
            self.has_space = false;
        }
        if !self.mark.is_empty() {
            self.out.push_str(&std::mem::take(&mut self.mark));
            self.has_space = false;
        }
        if std::mem::take(&mut self.has_space) && self.pre == 0 && !self.out.is_empty() {
            self.out.push(' ');
        }
    }

    fn put(&mut self, text: &str) {
        self.settle();
        self.out.push_str(text);
    }

    fn open_quote(&mut self) {
        if self.quotes == 0 {
            self.put("`");
        }
        self.quotes += 1;
    }

    fn close_quote(&mut self) {
        if self.quotes == 1 {
            // Stands right behind the text, whatever comes next.
            self.out.push('`');
        }
        self.quotes = self.quotes.saturating_sub(1);
    }

    fn line(&mut self) {
        self.breaks = self.breaks.max(1);
    }

    fn block(&mut self) {
        self.quotes = 0;
        // Inside a list item the mark waits for the text, and blocks only break lines.
        let wanted = if self.lists.is_empty() { 2 } else { 1 };
        if self.mark.is_empty() {
            self.breaks = self.breaks.max(wanted);
        }
    }

    fn open_list(&mut self, first: Option<usize>) {
        if self.lists.is_empty() {
            self.block();
        } else {
            self.line();
        }
        self.lists.push(first);
    }

    fn finish(self) -> String {
        let text = self.out.trim();
        if text.is_empty() {
            String::new()
        } else {
            format!("{text}\n")
        }
    }
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
