"""How Sphinx makes the site; `make.py` lays its sources out."""

project = "voxpath"
copyright = "The voxpath authors, Apache-2.0"  # noqa: A001 - Sphinx calls it so

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
myst_heading_anchors = 6
# Examples of terminals and of formats of ours are no programs of a language; headings of pages skip levels.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
# Words that only names in docstrings' types have.
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"

html_theme = "furo"
html_title = "voxpath"
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
# Pages that voxpath makes, beside those of Sphinx.
html_extra_path = ["extra"]
