"""Our own API: everything that `weft translate --json` tells, and all that can be asked of a line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from weft.control.json_lines import request_of
from weft.control.request import Request
from weft.control.spans import Kind
from weft.core.errors import UserError
from weft.engine.paragraphs import TranslatedLine
from weft.engine.records import as_paragraph_record, as_record
from weft.engine.translation import Translation
from weft.serve.bodies import Asked, Count, Whole
from weft.serve.libretranslate import check_texts
from weft.serve.limits import Limits
from weft.serve.manner import Manner
from weft.serve.records import Model
from weft.serve.refusal import contradiction, too_much
from weft.serve.served import Models, Served

DETAILS = ("pieces", "piece_scores", "confidence")
OneLine = Annotated[str, Field(pattern=r"^[^\n]*$")]
Phrase = Annotated[str, Field(pattern=r"^[^\n]*\S[^\n]*$")]


class Line(BaseModel):
    """A line to translate, with what is asked of its translation; as `weft translate --json-input` reads it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: OneLine
    prefix: Annotated[OneLine, Field(description="How it begins.")] = ""
    bias: Annotated[
        float | None, Field(gt=0, lt=1, description="How much it is drawn to the prefix, if not forced.")
    ] = None
    include: Annotated[
        list[Phrase | Annotated[list[Phrase], Field(min_length=1)]],
        Field(description="Phrases that stand in it; of a list, any one."),
    ] = []
    ordered: Annotated[bool, Field(description="In this order.")] = False
    exclude: Annotated[list[Phrase], Field(description="Phrases that do not stand in it.")] = []
    vocabulary: Annotated[list[Phrase] | None, Field(min_length=1, description="Of whose pieces it is made.")] = None
    protect: Annotated[list[Kind], Field(description="Kinds of spans that are copied.")] = []

    @property
    def phrases(self) -> int:
        """How many there are in the longest of its lists; a vocabulary costs nothing."""
        return max(len(self.include), len(self.exclude), *(len(one) for one in self.include if isinstance(one, list)))

    @property
    def written(self) -> str:
        """All that stands in it."""
        included = ("".join(one) for one in self.include)  # a phrase, or several
        return "".join((self.text, self.prefix, *included, *self.exclude, *(self.vocabulary or ())))


class TranslateLines(Asked):
    """What is asked of /v1/translate. Each line is a sentence, unless paragraphs are asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lines: list[OneLine | Line]
    model: Annotated[str | None, Field(description="Its name; the first of /v1/models, if none is given.")] = None
    beam: Count | None = None
    best: Annotated[Count | None, Field(description="How many alternatives, the text itself counted.")] = None
    paragraphs: Annotated[bool, Field(description="Lines may hold several sentences.")] = False
    tell: Annotated[
        list[Literal["details", "alignment", "attention"]],
        Field(default_factory=list, description="details: pieces with their scores, and the confidence."),
    ]
    likeliest: Annotated[Whole, Field(description="So many of the likeliest pieces at each place.")] = 0

    @property
    def manner(self) -> Manner:
        return Manner(
            self.beam,
            self.best,
            "details" in self.tell,
            "alignment" in self.tell,
            "attention" in self.tell,
            self.likeliest,
        )


class StreamLine(Asked):
    """What is asked of /v1/stream: one line, whose words are told as they are written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    line: OneLine | Line
    model: Annotated[str | None, Field(description="Its name; the first of /v1/models, if none is given.")] = None
    beam: Count | None = None


class Reload(Asked):
    """What is asked of /v1/reload."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Annotated[str | None, Field(description="Its name; all, if none is given.")] = None


async def translate(asked: TranslateLines, models: Models, limits: Limits) -> str:
    """The answer, as JSON."""
    check_lines(asked.lines, limits)
    served, requests = models.named(asked.model), [requested(line) for line in asked.lines]
    for what, found, limit in (
        ("beam", asked.beam, limits.beam),
        ("best", asked.best, limits.alternatives + 1),
        ("likeliest", asked.likeliest, limits.likeliest),
    ):
        if (found or 0) > limit:
            raise too_much(what, found or 0, limit)
    if asked.beam is not None and asked.best is not None and asked.best > asked.beam:
        raise contradiction(f"best is {asked.best}, but beam {asked.beam}: ask for fewer, or more")
    if asked.paragraphs:
        return await translate_paragraphs(asked, served, requests)
    found_lines = await served.translate(requests, asked.manner)
    return await asyncio.to_thread(lambda: answer(served, [shown(as_record(one), asked.manner) for one in found_lines]))


async def translate_paragraphs(asked: TranslateLines, served: Served, requests: Sequence[Request]) -> str:
    """The same, sentence by sentence."""
    if any(request != Request(request.text) for request in requests):
        raise contradiction("paragraphs: is for lines of which nothing else is asked")
    layouts = await asyncio.to_thread(lambda: [served.splitter(request.text) for request in requests])
    sentences = [Request(sentence) for layout in layouts for sentence in layout.sentences]
    found = iter(await served.translate(sentences, asked.manner))
    lines = [TranslatedLine(layout, tuple(next(found) for _ in layout.sentences)) for layout in layouts]
    return await asyncio.to_thread(lambda: answer(served, [shown_line(line, asked.manner) for line in lines]))


def requested(line: str | Line) -> Request:
    """What a line asks for."""
    if isinstance(line, str):
        return Request(line)
    try:
        return request_of(line.model_dump(exclude_none=True))
    except UserError as error:
        raise contradiction(str(error)) from None


def check_lines(lines: Sequence[str | Line], limits: Limits) -> None:
    """Not too many, and none asks for too much?"""
    check_texts([line if isinstance(line, str) else line.written for line in lines], limits)
    for line in lines:
        if not isinstance(line, str) and line.phrases > limits.phrases:
            raise too_much("phrases", line.phrases, limits.phrases)


def answer(served: Served, lines: list[dict[str, Any]]) -> str:
    return json.dumps({"model": served.name, "lines": lines}, ensure_ascii=False, allow_nan=False)


def shown_line(line: TranslatedLine, manner: Manner) -> dict[str, Any]:
    record: dict[str, Any] = as_paragraph_record(line)
    return {**record, "sentences": [shown(as_record(one), manner) for one in line.sentences]}


def shown(record: dict[str, Any], manner: Manner) -> dict[str, Any]:
    """Without what was not asked for, and one engine tells while the other does not."""
    if manner.details:
        return record
    told = [{name: one[name] for name in one if name not in DETAILS} for one in record["alternatives"]]
    return {name: record[name] for name in record if name not in DETAILS} | {"alternatives": told}


def as_event(name: str, data: object) -> str:
    """A server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False, allow_nan=False)}\n\n"


def ended(translation: Translation) -> str:
    """The last event of a stream."""
    return as_event("translation", shown(as_record(translation), Manner(details=True)))


def models_told(models: Models) -> list[Model]:
    """Those that are served."""
    return [
        Model(
            name=one.name,
            source=one.pair.source,
            target=one.pair.target,
            engine=one.told.split("\n")[0],
            mark=one.mark,
            queue=one.waiting,
        )
        for one in models.all
    ]
