// Package mcp makes an agent of a server of the Model Context Protocol: its tools
// are the agent's skills.
package mcp

import (
	_ "github.com/modelcontextprotocol/go-sdk/mcp" // until the agent is here
)
