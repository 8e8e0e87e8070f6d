//! The filter against one that does nothing cleverly: dense complex matrices, every sum written out.
#![allow(missing_docs)]

mod common;

use common::Noise;
use voxpath_dsp::{Canceller, Config, Dcd, Reading, Stereo, WidelyLinear};

type Complex = (f64, f64);

fn plus(a: Complex, b: Complex) -> Complex {
    (a.0 + b.0, a.1 + b.1)
}

fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn conjugate(a: Complex) -> Complex {
    (a.0, -a.1)
}

fn scaled(a: Complex, by: f64) -> Complex {
    (by * a.0, by * a.1)
}

/// Table II with R(n) = λ R(n-1) + x̃ x̃^H, all of it.
struct BruteForce {
    config: Config,
    input: Vec<Complex>,
    matrix: Vec<Vec<Complex>>,
    residual: Vec<Complex>,
    taps: Vec<Complex>,
}

impl BruteForce {
    fn new(config: Config) -> Self {
        let size = 2 * config.length;
        let mut matrix = vec![vec![(0.0, 0.0); size]; size];
        for (index, row) in matrix.iter_mut().enumerate() {
            row[index].0 = config.regularisation * config.forgetting.powi(-((index / 2) as i32));
        }
        let zeros = vec![(0.0, 0.0); size];
        Self { config, input: zeros.clone(), matrix, residual: zeros.clone(), taps: zeros }
    }

    fn output(&self) -> Complex {
        let products = self.taps.iter().zip(&self.input).map(|(&g, &x)| times(conjugate(g), x));
        products.fold((0.0, 0.0), plus)
    }

    fn sample(&mut self, x: Complex, d: Complex) -> Complex {
        self.input.truncate(self.input.len() - 2);
        self.input.splice(0..0, [x, conjugate(x)]);
        for (row, &a) in self.matrix.iter_mut().zip(&self.input) {
            for (element, &b) in row.iter_mut().zip(&self.input) {
                *element = plus(scaled(*element, self.config.forgetting), times(a, conjugate(b)));
            }
        }
        let first = plus(d, scaled(self.output(), -1.0));
        let mut weight = self.config.forgetting;
        for _ in 0..self.config.reuse {
            let error = match self.config.reading {
                Reading::Corrected => plus(d, scaled(self.output(), -1.0)),
                Reading::PrintedError => first,
                Reading::PrintedSign => unreachable!("not compared"),
            };
            for (r, &x) in self.residual.iter_mut().zip(&self.input) {
                *r = plus(scaled(*r, weight), times(conjugate(error), x));
            }
            self.solve();
            weight = 1.0;
        }
        first
    }

    fn solve(&mut self) {
        let Dcd { range, bits, updates } = self.config.dcd;
        let (mut step, mut bit) = (range / 2.0, 1);
        for _ in 0..updates {
            let parts = self.residual.iter().enumerate().flat_map(|(q, r)| [(q, false, r.0), (q, true, r.1)]);
            let (q, imaginary, leading) =
                parts.reduce(|a, b| if b.2.abs() > a.2.abs() { b } else { a }).expect("unknowns");
            while leading.abs() <= step / 2.0 * self.matrix[q][q].0 {
                bit += 1;
                step /= 2.0;
                if bit > bits {
                    return;
                }
            }
            let size = if leading < 0.0 { -step } else { step };
            let change = if imaginary { (0.0, size) } else { (size, 0.0) };
            self.taps[q] = plus(self.taps[q], change);
            for (r, row) in self.residual.iter_mut().zip(&self.matrix) {
                *r = plus(*r, scaled(times(change, row[q]), -1.0));
            }
        }
    }
}

/// Largest difference of any output and, at the end, of any tap.
fn difference(config: Config, samples: usize) -> (f64, f64) {
    let mut filter = WidelyLinear::<f64>::new(config).expect("a valid configuration");
    let mut reference = BruteForce::new(config);
    let mut world = common::World::new(config.length, 30.0);
    let mut largest: f64 = 0.0;
    for _ in 0..samples {
        let (far, near) = world.sample();
        let ours = filter.sample(far, near).expect("usable samples");
        let theirs = reference.sample((far.left, far.right), (near.left, near.right));
        largest = largest.max((ours.left - theirs.0).abs()).max((ours.right - theirs.1).abs());
    }
    let system = filter.paths().widely_linear();
    let taps = reference.taps.chunks_exact(2).enumerate().flat_map(|(k, taps)| {
        [
            (system.re[k], taps[0].0),
            (system.im[k], taps[0].1),
            (system.conjugate_re[k], taps[1].0),
            (system.conjugate_im[k], taps[1].1),
        ]
    });
    (largest, taps.map(|(ours, theirs)| (ours - theirs).abs()).fold(0.0, f64::max))
}

#[test]
fn it_equals_brute_force_over_ten_thousand_samples() {
    for reuse in [1, 3] {
        let (output, taps) = difference(Config::published(16, 64.0, reuse), 10_000);
        assert!(output < 1e-10 && taps < 1e-10, "N_it = {reuse}: outputs {output:e}, taps {taps:e}");
    }
}

#[test]
fn it_equals_brute_force_for_any_length_and_solver() {
    for length in [1, 2, 3, 7, 8, 9, 33] {
        for (range, bits, updates) in [(1.0, 16, 4), (4.0, 8, 1), (2.0, 24, 16)] {
            let config = Config { dcd: Dcd { range, bits, updates }, ..Config::published(length, 8.0, 2) };
            let (output, taps) = difference(config, 300);
            assert!(output < 1e-10 && taps < 1e-10, "{config:?}: outputs {output:e}, taps {taps:e}");
        }
    }
}

#[test]
fn the_printed_form_is_what_is_printed() {
    let config = Config { reading: Reading::PrintedError, ..Config::published(16, 64.0, 3) };
    let (output, taps) = difference(config, 2_000);
    assert!(output < 1e-10 && taps < 1e-10, "outputs {output:e}, taps {taps:e}");
}

#[test]
fn single_precision_is_as_good_in_steady_state() {
    let config = Config::published(32, 64.0, 1);
    let run = |misalignment: &mut dyn FnMut(Stereo<f64>, Stereo<f64>) -> Option<f64>| {
        let mut world = common::World::new(32, 30.0);
        let (mut sum, mut count) = (0.0, 0);
        for sample in 0..40_000 {
            let (far, near) = world.sample();
            if let Some(value) = misalignment(far, near)
                && sample > 20_000
            {
                sum += value;
                count += 1;
            }
        }
        sum / f64::from(count)
    };
    let mut single = WidelyLinear::<f32>::new(config).expect("valid");
    let mut double = WidelyLinear::<f64>::new(config).expect("valid");
    let truth = common::World::new(32, 30.0).paths;
    let narrow = |s: Stereo<f64>| Stereo::new(s.left as f32, s.right as f32);
    let mut at = 0;
    let ours = run(&mut |far, near| {
        single.sample(narrow(far), narrow(near)).expect("usable");
        at += 1;
        (at % 100 == 0).then(|| common::misalignment(&truth, &common::wide(&single.paths())))
    });
    let reference = run(&mut |far, near| {
        double.sample(far, near).expect("usable");
        at += 1;
        (at % 100 == 0).then(|| common::misalignment(&truth, &double.paths()))
    });
    assert!((ours - reference).abs() < 0.2, "{ours:.3} dB against {reference:.3} dB");
    assert!(reference < -25.0, "steady state: {reference:.1} dB");
    let _ = Noise::new(1);
}
