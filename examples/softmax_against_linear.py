"""Softmax against linear attention: how the risk of each falls with the length of the sequence and the signal.

A marimo notebook: ``marimo edit examples/softmax_against_linear.py``, or run it as a script.
"""

import marimo

app = marimo.App()


@app.cell
def compute():
    import theorem_engine as te

    lengths = [2, 5, 10, 50, 100, 1000, 10**6]
    setting = {"task": "spiked", "nu": 6}

    def risks(L):
        return (
            float(te.predict("duranthon2026.minimal-risk", L=L, activation="softmax", **setting)),
            float(te.predict("duranthon2026.linear-risk", L=L, **setting)),
            float(te.predict("duranthon2026.bayes-risk", L=L, **setting)),
        )

    rows = {L: risks(L) for L in lengths}
    return rows, te


@app.cell
def table(rows):
    print("smallest risks in the spiked task, signal nu = 6")
    print(f"{'tokens':>8} {'softmax':>10} {'linear':>10} {'Bayes':>10}")
    for _tokens, _risks in rows.items():
        print(f"{_tokens:>8} " + " ".join(f"{_risk:>10.6f}" for _risk in _risks))
    worst = max(_softmax - _bayes for _softmax, _, _bayes in rows.values())
    print(f"softmax is the Bayes estimator here: largest distance {worst:.1e}")
    return


@app.cell
def picture(te):
    te.plot(
        "duranthon2026.element-wise-bound", "duranthon2026.linear-risk", task="spiked", nu=te.grid("0.5", 12, 24), L=10,
        title="spiked task, 10 tokens",
    )  # fmt: skip
    return


if __name__ == "__main__":
    app.run()
