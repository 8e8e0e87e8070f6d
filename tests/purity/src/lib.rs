//! Proof that the core has no clock, no I/O and no hidden randomness.
//!
//! This crate defines the panic handler, which `std` also does: if any core crate, or anything that one
//! depends on, linked `std`, there would be two, and the compiler refuses that (E0152). Without `std`, and with
//! `unsafe` forbidden, there is no way to the operating system. `make purity` builds it, and builds it once more
//! with the feature `impure`, which has to fail.
#![no_std]

#[cfg(feature = "impure")]
extern crate std;

use voxpath_apps as _;
use voxpath_coap as _;
use voxpath_dsp as _;
use voxpath_mptcp as _;
use voxpath_mqtt as _;
use voxpath_net as _;
use voxpath_rtc as _;
use voxpath_sim as _;
use voxpath_tcp as _;
use voxpath_units as _;
use voxpath_wire as _;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
