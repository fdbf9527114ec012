"""What users write against and what is ours to change: components, state, windows, columns.

heronpy's frozen paths answer for these by heronpy_compat.api.
"""
