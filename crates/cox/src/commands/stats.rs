//! `cox stats`

use crate::{
    args::Stats,
    exit::{Exit, Failure},
    printer::Printer,
};

pub(crate) fn stats(_: &Stats, _: &cox_store::Home, _: Printer) -> Result<Exit, Failure> {
    Err(Failure::error("not yet"))
}
