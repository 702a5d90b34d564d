//! Counts the blocks of a JPEG by its codes alone, to find what decoders fill with grey: bytes that are missing, doubled or
//! damaged in the middle.
//!
//! Sequential pictures with Huffman codes and eight bits are counted, which is what nearly everyone writes; of others nothing
//! is said. JPEG has no checksums, so damage that leaves as many blocks as there should be is not found.

/// Bits that may be missing at the end of a scan: some writers leave the last ones out, decoders read them as zeros.
const MISSING_BITS: u32 = 32;

/// Bytes that may be left behind the last block of a scan.
const LEFT_OVER: usize = 64;

/// Says what is wrong, if anything is.
pub(super) fn check(bytes: &[u8]) -> Result<(), &'static str> {
    let mut picture = Picture::default();
    let mut at = 2;
    loop {
        let Some(mark) = next_mark(bytes, at) else {
            return Ok(());
        };
        let kind = bytes.get(mark + 1).copied().unwrap_or(0xD9);
        at = mark + 2;
        match kind {
            0xD9 => return Ok(()),
            0x01 | 0xD0..=0xD8 => continue,
            _ => {}
        }
        let Some(segment) = segment(bytes, at) else {
            return Err("a header is cut off");
        };
        at += segment.len() + 2;
        let known = match kind {
            0xC0 | 0xC1 => picture.frame(segment),
            0xC4 => picture.codes(segment),
            0xDD => picture.restarts(segment),
            0xDA => match picture.scan(segment) {
                Some(scan) => {
                    at = scan.count(bytes, at)?;
                    Some(())
                }
                None => None,
            },
            0xC2..=0xCF => None,
            _ => Some(()),
        };
        if known.is_none() {
            return Ok(());
        }
    }
}

/// Where the next mark begins: `FF` and something that is neither data nor filling.
fn next_mark(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let found = rest
        .windows(2)
        .position(|pair| pair[0] == 0xFF && !matches!(pair[1], 0 | 0xFF));
    found.map(|at| from + at)
}

/// What follows a mark, without its length.
fn segment(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let length = usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    bytes.get(at + 2..at + length)
}

/// What the headers say. Methods return `None` for what is not understood.
#[derive(Default)]
struct Picture {
    width: usize,
    height: usize,
    components: Vec<Component>,
    /// Codes of differences, then of the others; four of each.
    codes: [[Option<Codes>; 4]; 2],
    restart_every: usize,
}

#[derive(Clone, Copy)]
struct Component {
    id: u8,
    across: usize,
    down: usize,
}

impl Picture {
    fn frame(&mut self, segment: &[u8]) -> Option<()> {
        let &[8, h0, h1, w0, w1, count, ref components @ ..] = segment else {
            return None;
        };
        self.height = usize::from(u16::from_be_bytes([h0, h1]));
        self.width = usize::from(u16::from_be_bytes([w0, w1]));
        let components = components.get(..usize::from(count) * 3)?;
        self.components = components
            .chunks_exact(3)
            .map(|component| Component {
                id: component[0],
                across: usize::from(component[1] >> 4),
                down: usize::from(component[1] & 15),
            })
            .collect();
        let is_sane = |of: &Component| (1..=4).contains(&of.across) && (1..=4).contains(&of.down);
        (self.height > 0 && self.width > 0 && self.components.iter().all(is_sane)).then_some(())
    }

    fn codes(&mut self, mut segment: &[u8]) -> Option<()> {
        while let [which, rest @ ..] = segment {
            let counts = rest.get(..16)?;
            let total = counts.iter().map(|count| usize::from(*count)).sum();
            let symbols = rest.get(16..)?.get(..total)?;
            let place = self
                .codes
                .get_mut(usize::from(which >> 4))?
                .get_mut(usize::from(which & 15))?;
            *place = Some(Codes::new(counts, symbols));
            segment = &rest[16 + total..];
        }
        Some(())
    }

    fn restarts(&mut self, segment: &[u8]) -> Option<()> {
        let [high, low] = *segment else { return None };
        self.restart_every = usize::from(u16::from_be_bytes([high, low]));
        Some(())
    }

    fn scan(&self, segment: &[u8]) -> Option<Scan<'_>> {
        let (count, rest) = segment.split_first()?;
        let chosen = rest.get(..usize::from(*count) * 2)?;
        let most = |side: fn(&Component) -> usize| self.components.iter().map(side).max();
        let (across, down) = (most(|of| of.across)?, most(|of| of.down)?);
        let mut blocks = Vec::new();
        let mut only = None;
        for pair in chosen.chunks_exact(2) {
            let component = self.components.iter().find(|of| of.id == pair[0])?;
            let code =
                |class: usize, which: u8| self.codes[class].get(usize::from(which))?.as_ref();
            let codes = (code(0, pair[1] >> 4)?, code(1, pair[1] & 15)?);
            let times = component.across * component.down;
            blocks.extend(std::iter::repeat_n(codes, times));
            only = Some((*component, codes));
        }
        let units = if chosen.len() == 2 {
            // Alone, a component has no more blocks than it needs.
            let (component, codes) = only?;
            blocks = vec![codes];
            (self.width * component.across).div_ceil(across).div_ceil(8)
                * (self.height * component.down).div_ceil(down).div_ceil(8)
        } else {
            self.width.div_ceil(8 * across) * self.height.div_ceil(8 * down)
        };
        Some(Scan {
            units,
            blocks,
            restart_every: self.restart_every,
        })
    }
}

/// A Huffman code, by the length of its words.
struct Codes {
    /// For each length: the first word that is longer, and what to add to a word for its symbol's place.
    ends: [(i32, i32); 16],
    symbols: Vec<u8>,
}

impl Codes {
    fn new(counts: &[u8], symbols: &[u8]) -> Self {
        let mut ends = [(0, 0); 16];
        let (mut word, mut place) = (0_i32, 0_i32);
        for (end, count) in ends.iter_mut().zip(counts) {
            let count = i32::from(*count);
            *end = (word + count, place - word);
            place += count;
            word = (word + count) << 1;
        }
        Self {
            ends,
            symbols: symbols.to_vec(),
        }
    }
}

/// What one scan should hold.
struct Scan<'a> {
    /// Groups of blocks.
    units: usize,
    /// The codes of each block of a group.
    blocks: Vec<(&'a Codes, &'a Codes)>,
    restart_every: usize,
}

impl Scan<'_> {
    /// Goes through the data from `at`; returns where it ends.
    fn count(&self, bytes: &[u8], at: usize) -> Result<usize, &'static str> {
        let mut bits = Bits::new(bytes, at);
        for unit in 0..self.units {
            if self.restart_every > 0 && unit > 0 && unit % self.restart_every == 0 {
                bits.restart(unit / self.restart_every)?;
            }
            for (first, others) in &self.blocks {
                bits.block(first, others)?;
            }
        }
        let end = next_mark(bytes, bits.at).unwrap_or(bytes.len());
        if end.saturating_sub(bits.at) > LEFT_OVER {
            return Err("there is more data than the picture has room for");
        }
        Ok(end)
    }
}

struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
    byte: u8,
    left: u32,
    missing: u32,
}

impl<'a> Bits<'a> {
    fn new(bytes: &'a [u8], at: usize) -> Self {
        Self {
            bytes,
            at,
            byte: 0,
            left: 0,
            missing: 0,
        }
    }

    fn bit(&mut self) -> Result<i32, &'static str> {
        if self.left == 0 {
            let next = self.bytes.get(self.at..).unwrap_or_default();
            (self.byte, self.at) = match next {
                [0xFF, 0, ..] => (0xFF, self.at + 2),
                [0xFF, ..] | [] => {
                    self.missing += 8;
                    (0, self.at)
                }
                [byte, ..] => (*byte, self.at + 1),
            };
            if self.missing > MISSING_BITS {
                return Err("data is missing in the middle or at the end");
            }
            self.left = 8;
        }
        self.left -= 1;
        Ok(i32::from(self.byte >> self.left & 1))
    }

    fn skip(&mut self, bits: u8) -> Result<(), &'static str> {
        (0..bits).try_for_each(|_| self.bit().map(drop))
    }

    fn symbol(&mut self, codes: &Codes) -> Result<u8, &'static str> {
        let mut word = 0;
        for (end, offset) in codes.ends {
            word = word << 1 | self.bit()?;
            if word < end {
                let place = usize::try_from(word + offset).unwrap_or(usize::MAX);
                return codes.symbols.get(place).copied().ok_or(NO_CODE);
            }
        }
        Err(NO_CODE)
    }

    fn block(&mut self, first: &Codes, others: &Codes) -> Result<(), &'static str> {
        let size = self.symbol(first)?;
        if size > 15 {
            return Err(NO_CODE);
        }
        self.skip(size)?;
        let mut place = 1;
        while place < 64 {
            let symbol = self.symbol(others)?;
            let (zeros, size) = (symbol >> 4, symbol & 15);
            match (zeros, size) {
                (15, 0) => place += 16,
                (_, 0) => return Ok(()),
                _ => place += zeros + 1,
            }
            if place > 64 {
                return Err("a block has more than 64 values");
            }
            self.skip(size)?;
        }
        Ok(())
    }

    /// Goes on behind the mark that stands between two parts.
    fn restart(&mut self, nth: usize) -> Result<(), &'static str> {
        let wanted = 0xD0 + ((nth - 1) % 8) as u8;
        let mark = next_mark(self.bytes, self.at).filter(|mark| {
            mark - self.at <= LEFT_OVER && self.bytes.get(mark + 1) == Some(&wanted)
        });
        let mark = mark.ok_or("a restart mark is missing")?;
        *self = Self::new(self.bytes, mark + 2);
        Ok(())
    }
}

const NO_CODE: &str = "it has codes that mean nothing";
