// Package mcpserver makes a server of the Model Context Protocol of an A2A agent,
// for programs that know tools and no agents.
package mcpserver
