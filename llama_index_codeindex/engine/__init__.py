"""The ground floor: plain Python that never imports `llama_index`.

Data flows one way, and a room imports only from rooms before it:

    files -> syntax -> store -> search -> context -> graph, facts -> tools

`model` holds the small frozen types that travel between the rooms, `errors` the error tree, and `codebase` joins
the rooms into one object for the command line and for the LlamaIndex components upstairs.
"""
