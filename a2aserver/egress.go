package a2aserver

import "github.com/parley-a2a/parley/internal/egress"

// Egress says which addresses a server may be sent to by those who call it.
type Egress = egress.Policy

// EgressRule is an exception of an Egress: of Allow or of Deny.
type EgressRule = egress.Rule

// ParseEgressRule reads a rule: a name such as hooks.example.com, all names
// below one (*.example.com), those and itself (.example.com), an address or a
// range (10.1.0.0/16), or all (*); each with a port after a colon or without. An
// http:// in front lets plain http through as well.
func ParseEgressRule(s string) (EgressRule, error) { return egress.ParseRule(s) }
