"""The service behind `heronpy ui`: REST of Heron and Storm, metrics, history, what is wrong."""
