"""The code blocks of a documentation page, run as a reader runs them: in order, in one session."""

import pathlib
import re

PAGES = pathlib.Path(__file__).parents[2]


def blocks(page, language="python"):
    """The text of each fenced block of a page in a language, in order.

    Args:
      page: path from the top of the repository, such as "docs/library.md".
    """
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(page):
    """Runs the Python blocks of a page in the working directory, all in one namespace.

    What a block names, such as a checkpoint, must be in the working directory; the block itself is
    run as it is printed.

    Returns:
      the namespace at the end.
    """
    namespace = {}
    for number, block in enumerate(blocks(page), start=1):
        exec(compile(block, f"{page}, block {number}", "exec"), namespace)
    return namespace


def statements(block):
    """The lines of a block that are neither blank nor imports."""
    lines = [line for line in block.splitlines() if line.strip()]
    return [line for line in lines if not line.startswith(("import ", "from "))]
