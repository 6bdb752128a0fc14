"""MUF (model uncertainty fusion, Li et al. 2021): an expert's ensemble and how sure it makes the expert.

K small networks map the frozen question vector to K others; how far their
rankings of the first hits disagree is the expert's uncertainty.
"""
