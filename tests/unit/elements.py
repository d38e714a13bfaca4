"""What a browser makes of a page."""

from html.parser import HTMLParser


class Elements(HTMLParser):
    """The names and attributes of all elements, and the text between them."""

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
