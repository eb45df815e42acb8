"""Where attention beats ridge: training errors of both on the same tokens, over the ridge penalty.

A marimo notebook: ``marimo edit examples/attention_against_ridge.py``, or run it as a script.
"""

import marimo

app = marimo.App()


@app.cell
def compute():
    import theorem_engine as te

    penalty = te.grid("0.05", 20, 13, log=True)
    attention = te.sweep(
        "liao2026.interpolation-error", nonlinearity="sign", c="0.25", gamma=penalty, snr=1, weights="aligned"
    )
    ridge = te.sweep("liao2026.ridge-error", c="0.25", gamma=penalty, snr=1)
    return attention, ridge, te


@app.cell
def table(attention, ridge):
    print("attention with sign scores and aligned weights against ridge, c = 1/4, signal 1")
    print(f"{'gamma':>8} {'attention':>10} {'ridge':>10}  better")
    for _gamma, _attention, _ridge in zip(
        ridge["gamma"].values, attention["error"].values, ridge["error"].values, strict=True
    ):
        print(f"{_gamma:>8.3f} {_attention:>10.6f} {_ridge:>10.6f}  {'attention' if _attention < _ridge else 'ridge'}")
    return


@app.cell
def picture(attention, ridge, te):
    te.plot(attention, ridge, title="training error, c = 1/4, signal 1")
    return


if __name__ == "__main__":
    app.run()
