"""The Python blocks of the documentation: found, and short. `test_wheel.py` runs them."""

from tests.reference import snippets

PAGE = "docs/library.md"


def test_programs_have_at_most_five_lines():
    lengths = [len(snippets.statements(block)) for block in snippets.blocks(PAGE)]
    assert len(lengths) > 8 and max(lengths) <= 5


def test_blocks_of_a_page_are_found(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text(
        "```python\na = 1\n```\n\n```sh\nls\n```\n```python\nb = a\n```\n"
    )
    monkeypatch.setattr(snippets, "PAGES", tmp_path)
    assert snippets.blocks("page.md") == ["a = 1\n", "b = a\n"]
    assert snippets.blocks("page.md", "sh") == ["ls\n"]
