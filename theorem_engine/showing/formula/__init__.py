"""Mathematics as people write it: one tree of signs, spelled as text, as LaTeX and as MathML."""
