"""streamparse.cli: the commands of `sparse` are those of `heronpy` here."""
