"""A first query: find a theorem, read it, and get its number with an error and with forty digits."""

import theorem_engine as te
from theorem_engine.base.errors import OutOfDomain


def main():
    print("Which entries speak about the oracle?\n")
    print(te.find("oracle risk"))

    print("\nOne of them, evaluated in double precision; letters may be numbers or exact text:\n")
    point = {"lam": "0.1", "gamma": "sqrt(1/2)", "d": 400, "L": 10}
    prediction = te.predict("marion2025.oracle-risk", **point)
    print(prediction)

    print("\nThe same with forty digits. The float above is right to within the error it states:\n")
    precise = te.predict("marion2025.oracle-risk", **point, digits=40)
    print(precise)
    print(f"\ndistance {abs(float(precise.value - prediction.value)):.1e}, stated error {prediction.error:.1e}")

    print("\nA value outside its domain is refused in one sentence:\n")
    try:
        te.predict("marion2025.oracle-risk", **{**point, "lam": -1})
    except OutOfDomain as error:
        print(f"OutOfDomain: {error}")

    print("\nWhat to cite:\n")
    print(te.cite("marion2025.oracle-risk"))


if __name__ == "__main__":
    main()
