"""The tools for assistants, through the protocol's own client in memory."""

import asyncio

import pytest

from theorem_engine.showing.web.assistant import make_server

mcp = pytest.importorskip("mcp", reason="extra mcp")
POINT = {"t": "0.3", "g": "0.7"}


@pytest.fixture(scope="module")
def results():
    """One conversation: every tool once, and a question that is refused."""

    async def talk():
        async with mcp.Client(make_server()) as client:
            tools = await client.list_tools()
            calls = {
                "find": await client.call_tool("find", {"words": "oracle"}),
                "show": await client.call_tool("show", {"id": "gaussian.erf-mean"}),
                "predict": await client.call_tool("predict", {"id": "gaussian.erf-mean", "point": POINT}),
                "check": await client.call_tool("check", {"id": "gaussian.erf-mean", "point": POINT, "seconds": 2}),
                "cite": await client.call_tool("cite", {"ids": ["gaussian.erf-mean"]}),
                "refused": await client.call_tool("predict", {"id": "gaussian.erf-mean", "point": {"t": 1, "g": -1}}),
                "file": await client.call_tool(
                    "predict", {"id": "liao2026.interpolation-error", "point": {"weights_file": "/etc/passwd"}}
                ),
            }
        return tools, calls

    return asyncio.run(talk())


def test_there_are_five_tools_that_say_what_they_take(results):
    tools, _ = results
    assert {tool.name for tool in tools.tools} == {"find", "show", "predict", "check", "cite"}
    for tool in tools.tools:
        assert tool.description
        assert tool.input_schema["required"]
        assert tool.output_schema is not None


def test_answers_are_structured_and_those_of_python(results):
    import theorem_engine as te

    _, calls = results
    found = calls["predict"].structured_content["answer"]
    assert found["value"] == te.predict("gaussian.erf-mean", **POINT).value
    assert "marion2025.oracle-risk" in str(calls["find"].structured_content)
    assert calls["show"].structured_content["answer"]["example"] == {"t": "1", "g": "0.5"}
    assert calls["check"].structured_content["answer"]["verdict"] in ("agrees", "cannot tell")
    assert calls["cite"].structured_content["answer"]["bibtex"].startswith("@")


def test_a_refusal_is_the_sentence_of_the_engine(results):
    _, calls = results
    assert calls["refused"].is_error
    assert "outside [0, oo)" in calls["refused"].content[0].text
    assert calls["file"].is_error
    assert "file of this machine" in calls["file"].content[0].text
