//! How many tokens a request has, about.
//!
//! Bytes divided by four, images at a flat price, corrected by what the provider counted for the last request. No
//! tokenizer: its tables would be most of the binary, and not every provider publishes one.

use llm::{Block, Request};

/// Tokens that an image is taken for. Providers charge by pixels, up to about this much for a large one.
const IMAGE_TOKENS: u64 = 1_600;

/// Estimates the tokens of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimator {
    /// Counted tokens of the last request divided by its plain estimate.
    factor: f64,
}

impl Default for Estimator {
    fn default() -> Self {
        Self { factor: 1.0 }
    }
}

impl Estimator {
    /// Returns the estimated input tokens of a request.
    pub(crate) fn tokens(&self, request: &Request) -> u64 {
        (plain(request) as f64 * self.factor).ceil() as u64
    }

    /// Learns from what the provider counted for a request. A count of zero tells nothing.
    pub(crate) fn learn(&mut self, request: &Request, counted: u64) {
        let estimate = plain(request);
        if counted > 0 && estimate > 0 {
            // A wild ratio is a provider that counts something else; do not follow it far.
            self.factor = (counted as f64 / estimate as f64).clamp(0.5, 3.0);
        }
    }
}

fn plain(request: &Request) -> u64 {
    let system: usize = request.system.iter().map(|part| part.text.len()).sum();
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| {
            tool.name.len() + tool.description.len() + tool.input_schema.to_string().len() + 40
        })
        .sum();
    let mut bytes = system + tools;
    let mut images = 0;
    for block in request.messages.iter().flat_map(|message| &message.blocks) {
        match block {
            Block::Text(text) => bytes += text.len(),
            Block::Image(_) => images += 1,
            Block::Call { name, input, .. } => bytes += name.len() + input.len() + 40,
            Block::Result {
                text, images: more, ..
            } => {
                bytes += text.len() + 40;
                images += more.len();
            }
            Block::Opaque(block) => bytes += block.json.len(),
        }
    }
    (bytes as u64).div_ceil(4) + images as u64 * IMAGE_TOKENS
}
