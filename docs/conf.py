"""Sphinx configuration; `make docs` builds with every warning an error."""

import re

from stiction._version import __version__

project = "Stiction"
author = "The Stiction developers"
copyright = "2026, The Stiction developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst", "auto_examples/**/*.ipynb"]

# Pages are MyST Markdown; the gallery writes reStructuredText.
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Docstrings are NumPy style, with a description and [unit] where others put a type.
napoleon_google_docstring = False
napoleon_numpy_docstring = True
napoleon_use_rtype = False
autosummary_generate = True
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

# Every script in examples/ runs; its own asserts decide whether the build passes.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"(^|[\\/])_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "backreferences_dir": None,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "Stiction"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": True, "secondary_sidebar_items": ["page-toc"]}


_ASIDE = re.compile(r"\s*(Source|Verified by):")


def _separate_asides(_app, _what, _name, _obj, _options, lines):
    """Give each `Source:` and `Verified by:` line of a docstring its own paragraph."""
    spaced = []
    for line in lines:
        if _ASIDE.match(line) and spaced and spaced[-1].strip():
            spaced.append("")
        spaced.append(line)
    lines[:] = spaced


def setup(app):
    """Register the docstring filter ahead of napoleon, which runs at priority 500."""
    app.connect("autodoc-process-docstring", _separate_asides, priority=400)
