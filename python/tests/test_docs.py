"""The code of the pages on Python runs. FEDSINKHORN_RECIPE_IMAGES=docs/images keeps the pictures of the recipes."""
import os
import re
import shutil
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def sections(page):
    """(title, all code of the section) of a page."""
    for section in re.split(r"^## ", (DOCS / page).read_text(), flags=re.M)[1:]:
        code = "\n".join(re.findall(r"^```python\n(.*?)^```", section, flags=re.M | re.S))
        if code:
            yield section.splitlines()[0], code


def by_title(text):
    return "" if "\n" in text else text


@pytest.mark.parametrize("title, code", sections("python-recipes.md"), ids=by_title)
def test_recipes(title, code, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot", reason="Matplotlib is not installed")
    if "import torch" in code or ", torch" in code:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    with plt.rc_context({"savefig.dpi": 70, "savefig.bbox": "tight", "figure.figsize": (6, 4)}):
        exec(compile(code, title, "exec"), {})
    plt.close("all")
    (picture,) = tmp_path.glob("*.png")
    assert f"](images/{picture.name})" in (DOCS / "python-recipes.md").read_text()
    if "FEDSINKHORN_RECIPE_IMAGES" in os.environ:
        shutil.copy(picture, DOCS.parent / os.environ["FEDSINKHORN_RECIPE_IMAGES"])


def test_there_are_ten_recipes():
    assert len(list(sections("python-recipes.md"))) == 10


@pytest.mark.parametrize("page", ["python.md", "coming-from.md"])
def test_pages(page):
    names = {}
    for title, code in sections(page):
        if "import ot" in code:
            pytest.importorskip("ot", reason="POT is not installed")
        exec(compile(code, title, "exec"), names)
