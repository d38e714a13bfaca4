"""The requests to the server as plain data, and how the fields of its answers are called in numbers.json."""

from typing import Any, NamedTuple

LIMITS = {"characters": 600, "texts": 8, "body_bytes": 4000, "beam": 8, "inspected_characters": 120}
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
    return Call("POST", "/v1/translate", {"lines": list(texts), "model": model, "split": False, **others})


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
        CAT, beam=4, n_best=3, outputs=["tokens", "alignment", "attention"], top_tokens=2, model=BLOCKS
    ),
    "lines of paragraphs": lines(f"{CAT}. {TREE}.", split=True),
    "lines with constraints": lines(
        {"text": CAT, "prefix": "li", "include": ["mola", ["flumo", "arbo"]], "exclude": ["un hundo"]},
        {"text": TREE, "vocabulary": ["li", "kaso", "havet"]},
        {"text": "the dog has 42 cats", "protect": ["numbers"]},
        {"text": TREE, "prefix": "li arbo", "prefix_bias": 0.5},
        {"text": TREE, "include": ["kaso", "arbo"], "ordered": True},
        beam=4,
    ),
    "lines to ctc": lines(CAT, model=FRAMES, outputs=["tokens"]),
    "stream": Call("POST", "/v1/stream", {"line": CAT, "model": RECURRENT, "beam": 2}),
    "inspect words": inspect("words", alternatives=3),
    "inspect attention of words": inspect("attention"),
    "inspect attention of tokens, recurrent": inspect("attention", model=RECURRENT, unit="tokens"),
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
    "error: more outputs than the beam": lines(CAT, beam=2, n_best=3),
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
    "error: contradiction": lines({"text": CAT, "prefix_bias": 0.5}),
    "error: reload without keys": Call("POST", "/v1/reload", {}),
}

STATUS_ONLY = {"health", "counters", "description", "page"}  # their bodies are names, prose or times

# None: left out, since it changes or is prose. A key may have the path of an endpoint before it, or the field that
# contains it: "/path field" counts before "parent.field", and that before "field".
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
    "truncated": "truncated",
    "finished": "finished",
    "ranking_score": "rank",
    "tokens": "tokens",
    "token_scores": "token scores",
    "constraints": "constraints",
    "phrases": "phrases",
    "met": "met",
    "forced": "forced",
    "protected": "kept spans",
    "constraints.kind": "constraints",
    "protected.kind": "span kind",
    "method": None,
    "alignment": "alignment",
    "attention": "attention",
    "source_tokens": "source tokens",
    "weights": "attention weights",
    "top_tokens": "alternatives of each token",
    "token": "token",
    "sentences": "sentences",
    "words": "translated words",
    "scores": "token scores",
    "/v1/inspect/words alternatives": "other tokens",
    "prefix": "prefix up to here",
    "layers": "attention of layers",
    "remarks": None,
    "steps": "search steps",
    "outcome": "outcome",
    "parent": "parent",
    "gates": "gates",
    "gradients": "gradient flow",
    "module": None,
    "labels": "positions",
    "activations": "mean opening",
    "hidden_state": "hidden state",
    "cell_state": "cell state",
    "spectral_norm": "largest singular value",
    "sides": "sides",
    "side": "side",
    "vectors": "position vectors",
    "classes": "classes",
    "best_path": "best path",
    "probabilities": "frame probabilities",
    "backend": None,
    "fingerprint": None,
    "queue": "queue length",
}
VALUES: dict[str, dict[str, str]] = {  # of fields whose values are names
    "outcome": {
        "output": "output",
        "finished": "finished",
        "extended": "extended",
        "unfinished": "unfinished",
        "dropped": "pruned",
    },
    "kind": {"prefix": "prefix", "include": "include", "exclude": "exclude", "numbers": "number"},
    "side": {"source": "source", "target": "target"},
}
EVENTS = {"prefix": "partial translation", "translation": "translation"}  # of a stream
