"""A small table of images, so that what is expected follows from what a test shows."""

import pytest

from tests.reference import image_table


@pytest.fixture
def small_table(monkeypatch):
    """Puts the content of `image_table` in place of the table."""
    from export.images import table

    def forget():
        for cached in (table.images, table.definition, table.cpu_kernels):
            cached.cache_clear()

    with monkeypatch.context() as patched:
        patched.setattr(table, "_content", lambda: image_table.CONTENT)
        forget()
        yield
    forget()
