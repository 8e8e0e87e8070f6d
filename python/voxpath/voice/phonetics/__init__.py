"""Vowels: what a vocal tract does, and what of it is heard, measured from contours and from sound.

`textgrid.py` and `contours.py` read what was annotated, `formants.py` measures sound by Praat, `geometry.py`
and `articulation.py` measure contours, `summary.py` puts both together by context, `compare.py` lays two
versions of a recording beside each other. `tract.py` and `synthesis.py` make material whose truth is known.

Praat is GPL and no part of voxpath's core: `praat.py` alone imports it, when it is used (the extra `vowels`).
"""
