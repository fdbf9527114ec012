"""The drill: each kind of trouble is made in a healthy topology, and has to be named in time."""
