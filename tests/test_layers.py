"""Files of Rust crates use each other in one direction; what Python imports, `lint-imports` checks."""

from __future__ import annotations

import pytest

from conftest import ROOT
from rust_modules import circles, name, uses

WITHOUT_CIRCLES = ("apps", "coap", "py", "sim", "units", "wire")


@pytest.mark.parametrize("crate", WITHOUT_CIRCLES)
def test_no_files_of_a_crate_use_each_other(crate):
    used = uses(ROOT / "crates" / crate / "src")
    assert len(used) > 1
    assert [[name(file) for file in circle] for circle in circles(used)] == []


def test_uses_are_read_from_paths_and_declarations(tmp_path):
    files = {
        "lib.rs": """
            //! crate::doc
            pub mod a;
            mod b;
            mod c;
            pub use b::{Offered as Other, Sign};
            fn f<'a>(x: &'a str) -> char { "crate::c::Text"; r#"crate::c"#; '"'; b::call() }
        """,
        "a.rs": "use crate::{b::{self, Deep}, c::{inner::Item}};\nuse alloc::vec::Vec;",
        "b.rs": "fn f() { crate::c::call(); /* crate::a::call() */ super::a::call::<crate::c::T>() }",
        "c/mod.rs": """
            mod inner;
            fn f() { inner::call(); crate::Other::new() }
            #[cfg(test)]
            mod tests { use crate::a::X; }
        """,
        "c/inner.rs": "use super::super::a::{X, Y};",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    found = uses(tmp_path)
    assert {name(file): sorted(map(name, others)) for file, others in found.items()} == {
        "crate": ["crate::b"],
        "crate::a": ["crate::b", "crate::c::inner"],
        "crate::b": ["crate::a", "crate::c"],
        "crate::c": ["crate::b", "crate::c::inner"],
        "crate::c::inner": ["crate::a"],
    }
    (circle,) = circles(found)
    assert [name(file) for file in circle] == ["crate::a", "crate::b", "crate::c", "crate::c::inner"]
