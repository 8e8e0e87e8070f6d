"""Files of Rust crates use each other in one direction; what Python imports, `lint-imports` checks."""

from __future__ import annotations

import pytest

from conftest import ROOT
from rust_modules import circles, name, uses

WITHOUT_CIRCLES = ("apps", "py", "sim", "units", "wire")

TO_BE_REMOVED = {
    "apps": {
        ("crate::apps::cbr", "crate::apps::onoff"),
        ("crate::apps::coap::client", "crate::apps"),
        ("crate::apps::coap::server", "crate::apps"),
        ("crate::apps::coap::tables", "crate::apps::coap::client"),
        ("crate::apps::coap::tables", "crate::apps::coap::server"),
        ("crate::apps::mqtt::broker", "crate::apps"),
        ("crate::apps::mqtt::publisher", "crate::apps"),
        ("crate::apps::mqtt::subscriber", "crate::apps"),
        ("crate::apps::mqtt::tables", "crate::apps::mqtt::broker"),
        ("crate::apps::mqtt::tables", "crate::apps::mqtt::publisher"),
        ("crate::apps::mqtt::tables", "crate::apps::mqtt::subscriber"),
        ("crate::apps::proxy", "crate::apps"),
        ("crate::record", "crate::apps::iperf_siri"),
        ("crate::record", "crate::apps::speech"),
    },
}
"""Uses that close a circle: a file, and one that it should not use. Whoever opens one removes its line."""


@pytest.mark.parametrize("crate", WITHOUT_CIRCLES)
def test_no_files_of_a_crate_use_each_other_but_for_the_listed(crate):
    listed = TO_BE_REMOVED.get(crate, set())
    used = uses(ROOT / "crates" / crate / "src")
    assert len(used) > 1
    left = {
        file: {other for other in others if (name(file), name(other)) not in listed}
        for file, others in used.items()
    }
    assert [[name(file) for file in circle] for circle in circles(left)] == []
    for file, other in listed:
        (user,) = (found for found in used if name(found) == file)
        (of,) = (found for found in used if name(found) == other)
        closed = {**left, user: left[user] | {of}}
        assert of in used[user], f"{file} uses {other} no more: take it from TO_BE_REMOVED"
        assert circles(closed), (
            f"that {file} uses {other} closes no circle any more: take it from TO_BE_REMOVED"
        )


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
