"""The code blocks of a documentation page, as a reader runs them: in order, in one session."""

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


def statements(block):
    """The lines of a block that are neither blank nor imports."""
    lines = [line for line in block.splitlines() if line.strip()]
    return [line for line in lines if not line.startswith(("import ", "from "))]
