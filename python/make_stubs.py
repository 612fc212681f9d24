"""Writes the type stubs of the package: a template, with the options of the library's table.

  make_stubs.py folder_of_the_built_package template output
"""
import importlib.util
import sys
from pathlib import Path

FILES = ("scenario", "key", "fingerprints")  # options whose values are files; _solve.py has them, too


def load_core(folder):
    """The extension module alone: the package around it would need NumPy."""
    (path,) = Path(folder).glob("_core.*.so")
    spec = importlib.util.spec_from_file_location("fedsinkhorn._core", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    folder, template, output = sys.argv[1:]
    options = [option for option in load_core(folder).options() if option["name"] != "epsilon"]
    lines = [f"    {option['name']}: Optional[{option['type']}] = ..." for option in options]
    lines += [f"    {name}: Optional[str] = ..." for name in FILES]
    Path(output).write_text(Path(template).read_text().replace("@OPTIONS@", ",\n".join(lines) + ","))


if __name__ == "__main__":
    main()
