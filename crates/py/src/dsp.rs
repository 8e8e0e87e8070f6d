//! Echo cancellers over buffers of samples.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use voxpath_dsp::{
    Canceller, Config, Damaged, Dcd, DenseConfig, ExactRls, FixedConfig, FixedPoint, Invalid, Nlms, Reading,
    Real, Rls, Rooms, RoomsConfig, Stereo, WidelyLinear, Words,
};

enum Filter {
    Single(Box<dyn Canceller<f32> + Send + Sync>),
    Double(Box<dyn Canceller<f64> + Send + Sync>),
}

use Filter::{Double, Single};

/// What a filter has of either precision.
macro_rules! either {
    ($filter:expr, $each:ident => $what:expr) => {
        match $filter {
            Single($each) => $what,
            Double($each) => $what,
        }
    };
}

/// A filter that takes the echo of two loudspeakers from two microphones.
#[pyclass(module = "voxpath._engine")]
pub(crate) struct EchoFilter(Filter);

fn refused(invalid: Invalid) -> PyErr {
    PyValueError::new_err(invalid.to_string())
}

fn damaged(damaged: Damaged) -> PyErr {
    PyValueError::new_err(damaged.to_string())
}

fn reading(name: &str) -> PyResult<Reading> {
    match name {
        "corrected" => Ok(Reading::Corrected),
        "printed sign" => Ok(Reading::PrintedSign),
        "printed error" => Ok(Reading::PrintedError),
        _ => Err(PyValueError::new_err(format!(
            "no reading is called {name:?}; corrected, printed sign or printed error"
        ))),
    }
}

fn is_double(precision: &str) -> PyResult<bool> {
    match precision {
        "single" => Ok(false),
        "double" => Ok(true),
        _ => Err(PyValueError::new_err(format!("no precision is called {precision:?}; single or double"))),
    }
}

/// The same filter in the precision that is asked for.
macro_rules! filter {
    ($precision:expr, $kind:ident, $($argument:expr),+) => {
        if is_double($precision)? {
            Ok(Self(Double(Box::new($kind::<f64>::new($($argument),+).map_err(refused)?))))
        } else {
            Ok(Self(Single(Box::new($kind::<f32>::new($($argument),+).map_err(refused)?))))
        }
    };
}

#[pymethods]
impl EchoFilter {
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "the publication's parameters, one by one")]
    fn widely_linear(
        precision: &str,
        length: usize,
        forgetting: f64,
        regularisation: f64,
        reuse: u32,
        amplitude: f64,
        bits: u32,
        updates: u32,
        reading: &str,
        guard: Option<f64>,
    ) -> PyResult<Self> {
        let reading = self::reading(reading)?;
        let dcd = Dcd { range: amplitude, bits, updates };
        let config = Config { length, forgetting, regularisation, reuse, dcd, reading, guard };
        filter!(precision, WidelyLinear, config)
    }

    /// In integers; its samples are double precision numbers.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "the publication's parameters, one by one")]
    fn fixed_point(
        length: usize,
        memory_bits: u32,
        regularisation: f64,
        reuse: u32,
        amplitude: f64,
        bits: u32,
        updates: u32,
        words: (u32, u32, u32),
    ) -> PyResult<Self> {
        let dcd = Dcd { range: amplitude, bits, updates };
        let words = Words { sample: words.0, sum: words.1, tap: words.2 };
        let config = FixedConfig { length, memory_bits, regularisation, reuse, dcd, words };
        Ok(Self(Double(Box::new(FixedPoint::new(config).map_err(refused)?))))
    }

    #[staticmethod]
    fn nlms(precision: &str, length: usize, step: f64, regularisation: f64) -> PyResult<Self> {
        filter!(precision, Nlms, length, step, regularisation)
    }

    #[staticmethod]
    fn rooms(
        precision: &str,
        length: usize,
        rate: f64,
        window: Option<usize>,
        memory: f64,
        suppress: bool,
    ) -> PyResult<Self> {
        let usual = RoomsConfig::usual(length, rate);
        let config = RoomsConfig { window: window.unwrap_or(usual.window), memory, suppress, ..usual };
        filter!(precision, Rooms, config)
    }

    #[staticmethod]
    fn rls(
        precision: &str,
        length: usize,
        forgetting: f64,
        regularisation: f64,
        reuse: u32,
        reading: &str,
        solve: bool,
    ) -> PyResult<Self> {
        let reading = self::reading(reading)?;
        let config = DenseConfig { length, forgetting, regularisation, reuse, reading };
        if solve { filter!(precision, ExactRls, config) } else { filter!(precision, Rls, config) }
    }

    #[staticmethod]
    fn restore(state: &[u8]) -> PyResult<Self> {
        macro_rules! attempt {
            ($($kind:ident),+) => {
                $(
                    match $kind::<f32>::restore(state) {
                        Err(Damaged::Other) => {}
                        found => return Ok(Self(Single(Box::new(found.map_err(damaged)?)))),
                    }
                    match $kind::<f64>::restore(state) {
                        Err(Damaged::Other) => {}
                        found => return Ok(Self(Double(Box::new(found.map_err(damaged)?)))),
                    }
                )+
            };
        }
        attempt!(WidelyLinear, Nlms, Rls, ExactRls, Rooms);
        match FixedPoint::restore(state) {
            Err(Damaged::Other) => {}
            found => return Ok(Self(Double(Box::new(found.map_err(damaged)?)))),
        }
        Err(damaged(Damaged::Other))
    }

    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &either!(&self.0, filter => filter.save()))
    }

    #[getter]
    fn length(&self) -> usize {
        either!(&self.0, filter => filter.length())
    }

    /// Samples by which what goes out is later.
    #[getter]
    fn delay(&self) -> usize {
        either!(&self.0, filter => filter.delay())
    }

    #[getter]
    fn precision(&self) -> &'static str {
        match self.0 {
            Single(_) => "single",
            Double(_) => "double",
        }
    }

    /// The four paths as double precision numbers.
    fn paths<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 4] {
        either!(&self.0, filter => {
            let paths = filter.paths();
            [paths.left_left, paths.left_right, paths.right_left, paths.right_right]
                .map(|path| PyBytes::new(py, &octets(&path)))
        })
    }

    /// Cancels a block; every buffer is of the filter's precision, the last one is written.
    fn block(
        &mut self,
        py: Python<'_>,
        far: [Bound<'_, PyAny>; 2],
        near: [Bound<'_, PyAny>; 2],
        out: [Bound<'_, PyAny>; 2],
    ) -> PyResult<()> {
        either!(&mut self.0, filter => block(py, filter.as_mut(), &far, &near, &out))
    }
}

fn octets<T: Real>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_f64().to_ne_bytes()).collect()
}

fn block<T: Real + Element>(
    py: Python<'_>,
    filter: &mut (dyn Canceller<T> + Send + Sync),
    far: &[Bound<'_, PyAny>; 2],
    near: &[Bound<'_, PyAny>; 2],
    out: &[Bound<'_, PyAny>; 2],
) -> PyResult<()> {
    let read = |buffer| PyBuffer::<T>::get(buffer)?.to_vec(py);
    let [fl, fr, nl, nr] = [read(&far[0])?, read(&far[1])?, read(&near[0])?, read(&near[1])?];
    let [left, right] = [PyBuffer::<T>::get(&out[0])?, PyBuffer::<T>::get(&out[1])?];
    let mut results = [vec![T::ZERO; left.item_count()], vec![T::ZERO; right.item_count()]];
    let [to_left, to_right] = &mut results;
    py.detach(|| filter.block(Stereo::new(&fl, &fr), Stereo::new(&nl, &nr), Stereo::new(to_left, to_right)))
        .map_err(|unusable| PyValueError::new_err(unusable.to_string()))?;
    left.copy_from_slice(py, to_left)?;
    right.copy_from_slice(py, to_right)
}
