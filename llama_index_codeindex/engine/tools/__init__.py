"""The tools of agents: small typed questions to a code base, answered in few tokens. MCP and LlamaIndex share them."""
