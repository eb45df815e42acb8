"""A plugin of pytest that puts one mutant in the place of its entry: ``-p tests.mutated``, named by the environment.

A suite that passes on a mutant does not know the theorem.
"""

import json
import os

#: The variable that holds id, kind and place of the mutant, as a JSON list.
VARIABLE = "THEOREM_ENGINE_MUTANT"


def pytest_configure(config):
    from theorem_engine.checking.mutants import wrong_entry
    from theorem_engine.language.catalogue import add_entry, find_entry, forget

    id, kind, place = json.loads(os.environ[VARIABLE])
    entry = find_entry(id)
    forget(entry)
    add_entry(wrong_entry(entry, kind, place))
