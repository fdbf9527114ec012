"""`heronpy replay`: the process around a replay, and its report."""
