mod caps;
mod lanes;
mod lives;
mod patience;
mod queue;
mod starts;
mod stress;
