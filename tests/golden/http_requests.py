"""The requests to the server as plain data, and how the fields of its answers are called in numbers.json."""

from typing import Any, NamedTuple

LIMITS = {"characters": 600, "texts": 8, "body": 4000, "beam": 8, "inspected": 120}
MODELS = ("bahdanau, searched", "transformer, searched", "ctc, searched")
LANGUAGES = ("en:de", "en:fr", "ru:it")
RECURRENT, BLOCKS, FRAMES = "bahdanau-searched", "transformer-searched", "ctc-searched"  # by their folders


class Call(NamedTuple):
    """A request. body: sent as JSON; bytes as they are, with `content_type`."""

    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"
    host: str | None = None


CAT, TREE = "the red cat sees a dog", "this tree has the old house"


def simple(text: Any = CAT, target: str = "de", **others: Any) -> Call:
    """Return a request in the format of LibreTranslate."""
    return Call("POST", "/translate", {"q": text, "source": "en", "target": target, **others})


def lines(*texts: Any, model: str = RECURRENT, **others: Any) -> Call:
    return Call("POST", "/v1/translate", {"lines": list(texts), "model": model, **others})


def inspect(kind: str, line: Any = CAT, model: str = BLOCKS, **others: Any) -> Call:
    return Call("POST", f"/v1/inspect/{kind}", {"line": line, "model": model, **others})


CALLS: dict[str, Call] = {
    "translate text": simple(),
    "translate several texts": simple([CAT, TREE], "fr"),
    "translate paragraphs": simple(f"  - {CAT}.\n\n{TREE}. {CAT}!\r\n"),
    "translate html": simple(f'<p id="a">{CAT}<br/></p>\n<a href="/red">{TREE}</a>&nbsp;', format="html"),
    "translate with alternatives": simple(alternatives=3),
    "translate, detected language": Call(
        "POST", "/translate", {"q": ["the cat", "красная кошка"], "source": "auto", "target": "fr"}
    ),
    "translate a form": Call(
        "POST", "/translate", b"q=the+red+cat&source=en&target=de", "application/x-www-form-urlencoded"
    ),
    "detect": Call("POST", "/detect", {"q": "the red cat, кот"}),
    "languages": Call("GET", "/languages"),
    "health": Call("GET", "/health"),
    "lines": lines(CAT, TREE, ""),
    "lines with details": lines(
        CAT, beam=4, best=3, tell=["details", "alignment", "attention"], likeliest=2, model=BLOCKS
    ),
    "lines of paragraphs": lines(f"{CAT}. {TREE}.", paragraphs=True),
    "lines with constraints": lines(
        {"text": CAT, "prefix": "li", "include": ["mola", ["flumo", "arbo"]], "exclude": ["un hundo"]},
        {"text": TREE, "vocabulary": ["li", "kaso", "havet"]},
        {"text": "the dog has 42 cats", "protect": ["numbers"]},
        {"text": TREE, "prefix": "li arbo", "bias": 0.5},
        {"text": TREE, "include": ["kaso", "arbo"], "ordered": True},
        beam=4,
    ),
    "lines to ctc": lines(CAT, model=FRAMES, tell=["details"]),
    "stream": Call("POST", "/v1/stream", {"line": CAT, "model": RECURRENT, "beam": 2}),
    "inspect words": inspect("words", others=3),
    "inspect attention of words": inspect("attention"),
    "inspect attention of tokens, recurrent": inspect("attention", model=RECURRENT, unit="pieces"),
    "inspect search": inspect("search", beam=3),
    "inspect gates": inspect("gates", model=RECURRENT, gradients=True),
    "inspect positions": inspect("positions", "the cat"),
    "inspect frames": inspect("frames", "the cat", model=FRAMES),
    "models": Call("GET", "/v1/models"),
    "training runs": Call("GET", "/v1/training"),
    "counters": Call("GET", "/metrics"),
    "description": Call("GET", "/openapi.json"),
    "page": Call("GET", "/"),
    "error: too many characters": simple("the cat " * 100),
    "error: too many texts": simple(["a"] * 9),
    "error: body too large": simple("x" * 5000),
    "error: beam too large": lines(CAT, beam=9),
    "error: more outputs than the beam": lines(CAT, beam=2, best=3),
    "error: unknown model": lines(CAT, model="none"),
    "error: unknown language": simple(target="xx"),
    "error: missing field": Call("POST", "/translate", {"q": CAT}),
    "error: empty text": simple(""),
    "error: unknown field": lines(CAT, surprise=1),
    "error: wrong type": lines(CAT, beam="wide"),
    "error: malformed json": Call("POST", "/v1/translate", b"{"),
    "error: content type": Call("POST", "/v1/translate", b"<x/>", "application/xml"),
    "error: unknown path": Call("GET", "/nothing"),
    "error: wrong method": Call("GET", "/translate"),
    "error: foreign host": Call("GET", "/languages", host="evil.example"),
    "error: gates of a transformer": inspect("gates"),
    "error: frames of a decoder": inspect("frames"),
    "error: line too long to inspect": inspect("words", "the cat " * 20),
    "error: contradiction": lines({"text": CAT, "bias": 0.5}),
    "error: reload without keys": Call("POST", "/v1/reload", {}),
}

STATUS_ONLY = {"health", "counters", "description", "page"}  # their bodies are names, prose or times

# None: left out, since it changes or is prose. A key "path field" is of one endpoint alone, and counts before "field".
FIELDS: dict[str, str | None] = {
    "translatedText": "translation",
    "detectedLanguage": "detected language",
    "alternatives": "hypotheses",
    "confidence": "confidence",
    "language": "language code",
    "code": "language code",
    "name": None,
    "targets": "target languages",
    "model": "model",
    "lines": "translated lines",
    "source": "source",
    "target": "target",
    "text": "text",
    "score": "log-probability",
    "cut": "truncated",
    "finished": "finished",
    "ranked_by": "rank",
    "pieces": "tokens",
    "piece_scores": "token scores",
    "asked": "constraints",
    "phrases": "phrases",
    "met": "met",
    "forced": "forced",
    "protected": "kept spans",
    "kind": "span kind",
    "by": None,
    "alignment": "alignment",
    "attention": "attention",
    "source_pieces": "source tokens",
    "weights": "attention weights",
    "likeliest": "alternatives of each token",
    "piece": "token",
    "sentences": "sentences",
    "words": "translated words",
    "scores": "token scores",
    "others": "other tokens",
    "prefix": "prefix up to here",
    "layers": "attention of layers",
    "remarks": None,
    "steps": "search steps",
    "outcome": "outcome",
    "compared_by": "rank",
    "parent": "parent",
    "gates": "gates",
    "gradients": "gradient flow",
    "place": None,
    "labels": "positions",
    "open": "mean opening",
    "hidden": "hidden state",
    "cell": "cell state",
    "factor": "largest singular value",
    "sides": "sides",
    "side": "side",
    "vectors": "position vectors",
    "classes": "classes",
    "symbols": "best path",
    "probabilities": "frame probabilities",
    "engine": None,
    "mark": None,
    "queue": "queue length",
}
VALUES: dict[str, dict[str, str]] = {  # of fields whose values are names
    "outcome": {
        "output": "output",
        "finished": "finished",
        "extended": "extended",
        "left": "unfinished",
        "dropped": "pruned",
    },
    "asked": {"prefix": "prefix", "include": "include", "exclude": "exclude"},
    "kind": {"numbers": "number"},
    "side": {"source": "source", "target": "target"},
}
EVENTS = {"prefix": "partial translation", "translation": "translation"}  # of a stream
