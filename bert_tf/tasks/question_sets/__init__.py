"""Other sets of questions in SQuAD's layout, to train on before SQuAD (section 4.2 of the paper).

One file for each original layout; `convert` runs one of them from file to file.
"""
