"""HTML parsing for tests."""

from html.parser import HTMLParser


class Elements(HTMLParser):
    """Names and attributes of all elements of a page, and the texts between them."""

    def __init__(self, source: str):
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words.append(data)
