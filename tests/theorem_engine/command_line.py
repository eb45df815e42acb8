"""What the tests of the command line call it by."""

import json

from typer.testing import CliRunner

from theorem_engine.showing.commandline import commands as cli


def run(*arguments):
    return CliRunner().invoke(cli.app, list(arguments))


def output_of(*arguments):
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def data_of(*arguments):
    """Whatever is printed on stdout with --json, which must be JSON and nothing else."""
    return json.loads(output_of(*arguments, "--json"))


def error_of(*arguments):
    """The one line of a refused query."""
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    return done.stderr.strip()
