"""An HTML page, parsed."""

import html.parser
import pathlib

VOID = {"meta", "br", "link", "img"}


class Page(html.parser.HTMLParser):
    """A parsed page: attributes of every tag, its text; every tag that opens closes."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else None, data))

    def texts_in(self, tag):
        return [text for inside, text in self.texts if inside == tag]

    def with_class(self, tag, kind):
        return [found for name, found in self.tags if name == tag and found.get("class") == kind]

    @classmethod
    def of(cls, path):
        """The page in a file."""
        return cls(pathlib.Path(path).read_text(encoding="utf-8"))
