"""The packages `scheduler`, `stream_manager` and `topology_master`, under an import name of ours.

The folders stand at the top of the repository and are linked here; a wheel has the files here and
nowhere else. So an environment may have other distributions with packages called `scheduler` or
`stream_manager`, and user code may have modules of these names: `import scheduler` never finds
ours.
"""
