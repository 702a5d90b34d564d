//! Forms as servers send them, forms as an enemy sends them, and the algebra of checking.

mod hostile;
mod properties;
mod reference;
mod servers;
mod spellings;
