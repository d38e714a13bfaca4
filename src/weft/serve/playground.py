"""The pages: at /, a person tries the models and looks inside them, at /training sees runs train. Files of ours, and
nothing from elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

FOLDER = Path(__file__).parent / "page"
HOME, TRAINING = "index.html", "training.html"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


@dataclass(frozen=True)
class File:
    """A file of the page, as it is when the server starts."""

    content: bytes
    kind: str
    mark: str

    @classmethod
    def at(cls, path: Path) -> File:
        content = path.read_bytes()
        return cls(content, KINDS[path.suffix], f'"{blake2b(content, digest_size=16).hexdigest()}"')

    async def __call__(self, request: Request) -> Response:
        """Browsers may keep it, but ask each time whether it is still the same."""
        headers = {"ETag": self.mark, "Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
        if self.mark in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.kind, headers=headers)


def page_routes(first: str) -> list[Route]:
    """The first page at /, that of training at /training, all else that they are made of below /page/."""
    places = {"/": first, "/training": TRAINING}
    places |= {f"/page/{path.name}": path.name for path in sorted(FOLDER.iterdir()) if path.suffix != ".html"}
    return [Route(place, File.at(FOLDER / name).__call__, methods=["GET"]) for place, name in places.items()]
