"""The API of LibreTranslate, so that its clients work with our models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from weft.control.request import Request
from weft.engine.translation import Translation
from weft.serve import detect as detecting
from weft.serve.bodies import Asked, Whole
from weft.serve.languages import Pair, name_of
from weft.serve.limits import Limits
from weft.serve.manner import TEXT_ALONE, Manner
from weft.serve.parting import Parted, part_html, part_text
from weft.serve.refusal import RefusedError, too_much
from weft.serve.served import Models, Served

AUTO = "auto"


class Translate(Asked):
    """What is asked of /translate."""

    q: Annotated[str | list[str], Field(description="A text, or several.")]
    source: Annotated[str, Field(description="The code of its language; auto: by its script.")]
    target: Annotated[str, Field(description="The code of the language to translate into.")]
    format: Annotated[
        Literal["text", "html", ""] | None, Field(description="In html, markup is kept as it is. Nothing: text.")
    ] = "text"
    alternatives: Annotated[Whole, Field(description="How many other translations to give.")] = 0

    @property
    def texts(self) -> list[str]:
        return [self.q] if isinstance(self.q, str) else self.q


class Detect(Asked):
    """What is asked of /detect."""

    q: Annotated[str, Field(description="A text.")]


class Detected(BaseModel):
    """A language that a text may be in."""

    confidence: Annotated[float, Field(ge=0, le=100, description="In per cent.")]
    language: str


class Translated(BaseModel):
    """What /translate answers: for several texts, a list of each."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    translated_text: str | list[str]
    alternatives: list[str] | list[list[str]] | None = None
    detected_language: Detected | list[Detected] | None = None


class Language(BaseModel):
    """A language, and those into which it can be translated."""

    code: str
    name: str
    targets: list[str]


class Health(BaseModel):
    """Whether the server answers."""

    status: Literal["ok"] = "ok"


class Prepared(NamedTuple):
    """Of each text, who translates it, and its sentences. detected: its language, if that was asked for."""

    served: list[Served]
    parted: list[Parted]
    detected: list[Detected]


async def translate(asked: Translate, models: Models, limits: Limits) -> Translated:
    """Every text, sentence by sentence, put together as it was. Beside the event loop, since a text may be long."""
    check(asked, limits)
    prepared = await asyncio.to_thread(prepare, asked, models)
    manner = Manner(best=asked.alternatives + 1) if asked.alternatives else TEXT_ALONE
    found = await in_turn(prepared.served, prepared.parted, manner)
    return await asyncio.to_thread(put_together, asked, prepared, found)


def prepare(asked: Translate, models: Models) -> Prepared:
    """What has to be known before anything is translated."""
    detected = list[detecting.Detected]()
    if asked.source == AUTO:
        codes = models.sources_of(asked.target)
        detected = [detected_in(text, codes) for text in asked.texts]
        served = [models.between(Pair(one.language, asked.target)) for one in detected]
    else:
        served = [models.between(Pair(asked.source, asked.target))] * len(asked.texts)
    parted = [part(text, one, asked.format) for text, one in zip(asked.texts, served, strict=True)]
    return Prepared(served, parted, [Detected(**one._asdict()) for one in detected])


def put_together(asked: Translate, prepared: Prepared, found: Sequence[Sequence[Translation]]) -> Translated:
    """The answer; where several texts were asked for, lists."""
    texts, others = list[str](), list[list[str]]()
    for parted, mine in zip(prepared.parted, found, strict=True):
        texts.append(parted.filled([sentence.text for sentence in mine]))
        others.append(alternatives(parted, mine, asked.alternatives))
    if isinstance(asked.q, str):
        return Translated(
            translated_text=texts[0],
            alternatives=others[0] if asked.alternatives else None,
            detected_language=prepared.detected[0] if prepared.detected else None,
        )
    return Translated(
        translated_text=texts,
        alternatives=others if asked.alternatives else None,
        detected_language=prepared.detected or None,
    )


def check(asked: Translate, limits: Limits) -> None:
    """Is there something to translate, and not too much?"""
    check_there(asked.q)
    check_texts(asked.texts, limits)
    if asked.alternatives > limits.alternatives:
        raise too_much("alternatives", asked.alternatives, limits.alternatives)


def check_there(text: str | list[str]) -> None:
    if text == "":
        raise RefusedError(400, "Invalid request: q: is empty")


def check_texts(texts: Sequence[str], limits: Limits) -> None:
    """Not too many, and not too long?"""
    if len(texts) > limits.texts:
        raise too_much("texts", len(texts), limits.texts)
    characters = sum(map(len, texts))
    if characters > limits.characters:
        raise too_much("characters", characters, limits.characters)


def detected_in(text: str, codes: Sequence[str]) -> detecting.Detected:
    """The likeliest language of a text; of equals the first, and where its script tells nothing, the first of all."""
    return next(iter(detecting.detect(text, codes)), detecting.Detected(0.0, codes[0]))


def part(text: str, served: Served, form: str | None) -> Parted:
    return part_html(text, served.splitter) if form == "html" else part_text(text, served.splitter)


async def in_turn(served: Sequence[Served], parted: Sequence[Parted], manner: Manner) -> list[list[Translation]]:
    """The translations of the sentences of each text; all that one model has to do, it is given at once."""
    found: list[list[Translation]] = [[] for _ in served]
    for model in dict.fromkeys(served):
        mine = [number for number, one in enumerate(served) if one is model]
        requests = [Request(sentence) for number in mine for sentence in parted[number].sentences]
        translations = iter(await model.translate(requests, manner))
        for number in mine:
            found[number] = [next(translations) for _ in parted[number].sentences]
    return found


def alternatives(parted: Parted, found: Sequence[Translation], count: int) -> list[str]:
    """Other wholes: the second best of every sentence, the third best ... ; each once, and the best not at all."""
    wholes = [
        parted.filled([one.alternatives[min(rank, len(one.alternatives) - 1)].text for one in found])
        for rank in range(count + 1)
    ]
    return list(dict.fromkeys(one for one in wholes[1:] if one != wholes[0]))


def detect(asked: Detect, models: Models, limits: Limits) -> list[Detected]:
    """Which of the languages that models read a text may be in."""
    check_there(asked.q)
    check_texts([asked.q], limits)
    return [Detected(**one._asdict()) for one in detecting.detect(asked.q, models.sources)]


def languages(models: Models) -> list[Language]:
    """All that are read or written."""
    return [Language(code=code, name=name_of(code), targets=models.targets_of(code)) for code in models.codes]
