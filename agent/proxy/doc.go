// Package proxy makes an agent of another A2A agent, of any version and binding,
// and gives it what this server has: durable tasks, streams that resume, webhooks.
package proxy
