"""What a shell offers when a word is begun."""

from typer.testing import CliRunner

from theorem_engine.showing.commandline import commands as cli
from theorem_engine.showing.commandline.completion import ids_beginning, letters_beginning


def offered(*words):
    """What bash is told for the last of these words."""
    environment = {
        "_THEOREM_ENGINE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("theorem-engine", *words)),
        "COMP_CWORD": str(len(words)),
    }
    return CliRunner().invoke(cli.app, [], prog_name="theorem-engine", env=environment).stdout.split()


def test_ids_and_labels_are_completed_with_their_titles():
    found = dict(ids_beginning("marion2025.li"))
    assert found == {"marion2025.linear-risk": "Risk of the best linear predictor"}
    assert "marion2025.theorem-1" in dict(ids_beginning("marion2025.t"))
    assert ids_beginning("nothing.of-the-kind") == []


def test_letters_are_completed_until_they_are_given():
    names = [name for name, _ in letters_beginning("marion2025.oracle-risk", [], "")]
    assert names == ["lam=", "gamma=", "d=", "L=", "eps="]
    assert letters_beginning("marion2025.oracle-risk", ["lam"], "l") == []
    assert letters_beginning("duranthon2026.linear-risk", [], "task=s") == [("task=spiked", "")]
    assert letters_beginning("no.such-entry", [], "l") == []
    assert letters_beginning(None, [], "l") == []


def test_a_shell_is_offered_commands_ids_letters_and_words():
    assert "predict" in offered("pred")
    assert offered("predict", "marion2025.line") == ["marion2025.linear-risk"]
    assert offered("sweep", "marion2025.linear-risk", "gamma=1", "g") == []
    assert offered("sweep", "marion2025.linear-risk", "gamma=1", "L") == ["L="]
    assert offered("predict", "duranthon2026.linear-risk", "task=m") == ["task=max"]
    assert "--verbose" in offered("predict", "marion2025.linear-risk", "--ver")
