"""Points at which the tests of duranthon2026's population theory evaluate its entries."""

import theorem_engine as te

ORDER = ("m_kk", "m_kv", "m_vk", "m_vv", "q_kk", "q_vv", "q_kv")
POINT = {"m_kk": 0.9, "m_kv": -0.3, "m_vk": 0.25, "m_vv": 0.8, "q_kk": 1.07, "q_vv": 0.8325, "q_kv": -0.065}
TASKS = ("spiked", "max")


def predict(name, output=None, **point):
    outputs = te.predict(f"duranthon2026.{name}", **point).outputs
    return outputs if output is None else outputs[output]


def risk(name, **point):
    return predict(name, "risk", **point)
