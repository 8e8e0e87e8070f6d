//! Sources of media: when frames are captured, and how large the encoder makes them.

pub mod audio;
pub mod video;

pub use audio::Audio;
pub use video::Video;

use voxpath_units::Time;

/// A frame that the encoder has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// When it was captured, and encoded in no time.
    pub captured: Time,
    /// Its number, from 0; numbers of frames that are not sent are left out.
    pub number: u32,
    /// Octets; at least one.
    pub bytes: u32,
    /// It can be decoded without others.
    pub key: bool,
    /// It begins a talk spurt.
    pub begins: bool,
    /// Octets of its layers, if it has some, from the lowest on; zero of those that it has not.
    pub layers: [u32; MOST_LAYERS],
}

/// Layers of a frame at most: those that VP9's descriptor can tell apart.
pub const MOST_LAYERS: usize = 8;

impl Frame {
    /// Octets of each of its layers; of all of it if it has none.
    pub fn layers(&self) -> impl Iterator<Item = u32> {
        let [first, ..] = self.layers;
        let whole = (first == 0).then_some(self.bytes);
        whole.into_iter().chain(self.layers.into_iter().take_while(|&octets| octets > 0))
    }
}

/// Zero-mean Laplacian of scale 1, from a uniform number between 0 and 1.
fn laplace(unit: f64) -> f64 {
    let side = unit - 0.5;
    let magnitude = -libm::log(1.0 - 2.0 * libm::fabs(side));
    if side < 0.0 { -magnitude } else { magnitude }
}
