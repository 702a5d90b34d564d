//! One measured figure: its values, its target, and the baseline of the same run.

/// Values of one measurement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// What was measured, in words.
    pub(crate) name: String,
    /// The unit of the values, such as `ms`.
    pub(crate) unit: &'static str,
    /// Every value, in the order of the runs. Never empty.
    pub(crate) values: Vec<f64>,
    /// The value that it should not exceed, by its median.
    pub(crate) target: Option<f64>,
    /// The baseline: its name, and the median of its values in the same unit.
    pub(crate) baseline: Option<(String, f64)>,
    /// Whether the target is for the ratio to the baseline instead of the median.
    pub(crate) target_is_ratio: bool,
}

impl Figure {
    /// Makes a figure without a target or a baseline.
    pub(crate) fn new(name: impl Into<String>, unit: &'static str, values: Vec<f64>) -> Self {
        Self {
            name: name.into(),
            unit,
            values,
            target: None,
            baseline: None,
            target_is_ratio: false,
        }
    }

    /// Sets what the median should not exceed.
    pub(crate) fn with_target(mut self, target: f64) -> Self {
        self.target = Some(target);
        self
    }

    /// Sets what the ratio of the medians should not exceed.
    pub(crate) fn with_target_ratio(mut self, target: f64) -> Self {
        self.target = Some(target);
        self.target_is_ratio = true;
        self
    }

    /// Sets the baseline by its values.
    pub(crate) fn beside(mut self, baseline: &Self) -> Self {
        self.baseline = Some((baseline.name.clone(), baseline.median()));
        self
    }

    /// Returns the median; the mean of the two in the middle for an even count.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match (sorted.get(middle), sorted.len() % 2) {
            (Some(value), 1) => *value,
            (Some(value), _) => (value + sorted[middle - 1]) / 2.0,
            (None, _) => f64::NAN,
        }
    }

    /// Returns the smallest value.
    pub(crate) fn min(&self) -> f64 {
        self.values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns the largest value.
    pub(crate) fn max(&self) -> f64 {
        self.values
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns the median divided by the baseline's.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.baseline
            .as_ref()
            .map(|(_, baseline)| self.median() / baseline)
    }

    /// Says whether the target is met; none without one.
    pub(crate) fn is_met(&self) -> Option<bool> {
        let value = if self.target_is_ratio {
            self.ratio()?
        } else {
            self.median()
        };
        self.target.map(|target| value <= target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_stands_in_the_middle() {
        for (values, median) in [
            (vec![3.0], 3.0),
            (vec![3.0, 1.0, 2.0], 2.0),
            (vec![4.0, 1.0, 2.0, 3.0], 2.5),
        ] {
            assert_eq!(Figure::new("a", "ms", values).median(), median);
        }
    }

    #[test]
    fn a_target_is_for_the_median_or_for_the_ratio() {
        let baseline = Figure::new("b", "ms", vec![2.0]);
        let figure = Figure::new("a", "ms", vec![3.0]);
        assert_eq!(figure.is_met(), None);
        assert_eq!(figure.clone().with_target(3.0).is_met(), Some(true));
        assert_eq!(figure.clone().with_target(2.9).is_met(), Some(false));
        assert_eq!(
            figure
                .clone()
                .beside(&baseline)
                .with_target_ratio(1.5)
                .is_met(),
            Some(true)
        );
        assert_eq!(
            figure.beside(&baseline).with_target_ratio(1.4).is_met(),
            Some(false)
        );
    }
}
