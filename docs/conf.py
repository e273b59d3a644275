"""Sphinx configuration; `make docs` builds with every warning an error."""

import ast
import itertools
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from _pages import write_pages
from _site import write_mathjax, write_movies, write_performance

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
exclude_patterns = ["_build", "_made", "_site", "**/GALLERY_HEADER.rst", "auto_examples/**/*.ipynb"]

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
autodoc_type_aliases = {"npt.ArrayLike": "ArrayLike", "ArrayLike": "ArrayLike", "Floats": "Floats"}
python_use_unqualified_type_names = True

# Every script in examples/ runs; its own asserts decide whether the build passes.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"(^|[\\/])_",
    "subsection_order": [
        f"../examples/{name}" for name in ("chains", "flows", "rods", "solids", "fits")
    ],
    "within_subsection_order": "ExampleTitleSortKey",
    # figures of a run live without pyplot; they are drawn as images, not as HTML in the page
    "image_scrapers": ("matplotlib", "_gallery.paper_figures"),
    "ignore_repr_types": r"PaperFigure",
    "download_all_examples": False,
    "backreferences_dir": None,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "Stiction"
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "show_nav_level": 2,
    "header_links_before_dropdown": 6,
    # a sign alone: its words are the same for eyes and for readers
    "navbar_persistent": ["search-button"],
}
# pages of the first level have no pages below them: nothing to list at the side
html_sidebars = {page.stem: [] for page in Path(__file__).parent.glob("*.md")}
html_context = {"default_mode": "auto"}
# the site asks no other host for anything: what it needs lies beside it
html_static_path = ["_site", "_made"]
html_css_files = ["stiction.css"]
html_js_files = ["site.js"]
html_search_scorer = str(Path(__file__).with_name("_site") / "scorer.js")
mathjax_path = "mathjax/tex-chtml.js"
# the menu of a right click, and the maps for speech, would be more files
mathjax3_config = {"options": {"enableMenu": False}}


_ASIDE = re.compile(r"\s*(Source|Verified by):")
_BARS = re.compile(r"(`[^`]*`)|\|(?=\S)([^|`]*?\S)\|")


def _plain_docstring(_app, _what, _name, _obj, _options, lines):
    """Let docstrings be read as they are written in the source.

    `|v|` outside backticks is an absolute value, not a substitution. Each `Source:` and
    `Verified by:` is a paragraph of its own, and never part of a list of parameters.
    """
    section, spaced = "", []
    for line, following in itertools.zip_longest(lines, lines[1:], fillvalue=""):
        if line.strip() and re.fullmatch(r"-{3,}", following.strip()):
            section = line.strip()
        if _ASIDE.match(line) and spaced:
            if section not in ("", "Notes"):
                section = "Notes"
                spaced += ["", "Notes", "-----"]
            spaced.append("")
        spaced.append(_BARS.sub(lambda bars: bars[1] or rf"\|{bars[2]}\|", line))
    lines[:] = spaced


def _plain_signature(_app, _what, _name, _obj, _options, signature, returns):
    """Show an alias inside a union by its name alone, as elsewhere."""

    def shorten(text):
        return text and re.sub(r"TypeAliasForwardRef\('([\w.]+)'\)", r"\1", text)

    return shorten(signature), shorten(returns)


def _plain_types(_app, obj, _bound):
    """Show the types of declared fields alone, without the rules beside them."""
    hints = getattr(obj, "__annotations__", {})
    for name, hint in hints.items():
        if isinstance(hint, str) and hint.startswith("Annotated["):
            hints[name] = ast.unparse(ast.parse(hint, mode="eval").body.slice.elts[0])


def setup(app):
    """Write the pages that are made, and register the filters.

    Docstrings go ahead of napoleon, which runs at priority 500.
    """
    write_pages()
    write_mathjax()
    write_movies()
    write_performance()
    app.connect("autodoc-process-docstring", _plain_docstring, priority=400)
    app.connect("autodoc-before-process-signature", _plain_types)
    app.connect("autodoc-process-signature", _plain_signature)


# words in shapes, such as (masses,), are no references; several classes have fields of that name
suppress_warnings = ["ref.python"]
