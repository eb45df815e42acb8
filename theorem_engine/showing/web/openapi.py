"""The description of the questions that OpenAPI readers understand."""

from __future__ import annotations

from typing import Any

from theorem_engine.base.version import __version__
from theorem_engine.showing.index import all_rows
from theorem_engine.showing.web.questions import LONGEST, MOST_CITED, MOST_DIGITS, MOST_POINTS, MOST_SECONDS

_TEXT = {"type": "string", "maxLength": LONGEST}
_ID = {**_TEXT, "description": "Id of an entry, or its label in the paper."}
_POINT = {
    "type": "object", "maxProperties": 60, "description": "Letters by name; text keeps numbers exact.",
    "additionalProperties": {"anyOf": [{"type": "number"}, {"type": "boolean"}, _TEXT]},
}  # fmt: skip
#: For each question: what it is, its properties, those it needs.
_BODIES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "find": ("Entries and figures that contain all the words.", {"words": _TEXT, "paper": _TEXT}, []),
    "show": ("An entry as plain data, with its example and ranges of its letters.", {"id": _ID}, ["id"]),
    "predict": (
        "The value of an entry at a point, with its error.",
        {"id": _ID, "point": _POINT, "digits": {"type": "integer", "minimum": 1, "maximum": MOST_DIGITS},
         "certified": {"type": "boolean"}}, ["id"],
    ),
    "curve": (
        "Values of an output along a letter; null where there is none.",
        {"id": _ID, "point": _POINT, "letter": _TEXT, "output": _TEXT,
         "places": {"type": "array", "minItems": 2, "maxItems": MOST_POINTS,
                    "items": {"anyOf": [{"type": "number"}, _TEXT]}}}, ["id", "letter", "places"],
    ),
    "check": (
        "An entry against simulators that never saw it.",
        {"id": _ID, "point": _POINT, "samples": {"type": "integer", "minimum": 1},
         "seed": {"type": "integer", "minimum": 0},
         "seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_SECONDS}}, ["id"],
    ),
    "cite": (
        "BibTeX of entries.",
        {"ids": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": MOST_CITED}}, ["ids"],
    ),
}  # fmt: skip
_REFUSALS = {
    "400": "the body is no small JSON object", "403": "the request is for another host", "404": "no such entry",
    "408": "the body did not arrive", "413": "the body is too large", "415": "the body is not application/json",
    "422": "the engine refuses, with its sentence; or the question took longer than it may",
    "429": "all workers are busy",
}  # fmt: skip


def description() -> dict[str, Any]:
    """The OpenAPI document."""
    error = {"type": "object", "required": ["error", "message"],
             "properties": {"error": {"type": "string"}, "message": {"type": "string"}}}  # fmt: skip
    refusals = {
        code: {"description": words, "content": {"application/json": {"schema": error}}}
        for code, words in _REFUSALS.items()
    }
    good = {"description": "the answer", "content": {"application/json": {"schema": {"type": "object"}}}}
    paths = {}
    # ids that are known, or any other name of an entry
    known = {"anyOf": [{"enum": [row.id for row in all_rows() if row.kind != "figure"]}, _ID]}
    for name, (summary, own, needed) in _BODIES.items():
        properties = {key: known if value is _ID else value for key, value in own.items()}
        schema = {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}
        paths[f"/api/{name}"] = {
            "post": {
                "operationId": name, "summary": summary,
                "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
                "responses": {"200": good, **refusals},
            }
        }  # fmt: skip
    return {"openapi": "3.1.0", "info": {"title": "Theorem Engine", "version": __version__}, "paths": paths}
