"""The command heronpy, a thin face over the other packages."""
