//! The peers among themselves: that each starts, and that the chaos server speaks what real clients understand.

mod chaos;
mod sdks;
