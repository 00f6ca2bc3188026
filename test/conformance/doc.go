// Package conformance judges the server as a client sees it, over real
// connections, by tests alone. They share the fixtures of conformance_test.go
// and identity_world_test.go:
//
//   - conformance_*: one subtest for each row of rules.md;
//   - identity_*: nobody reaches what is another's;
//   - matrix_*: every behaviour over every version and binding (make matrix);
//   - the rest: cards, hosts of several agents, draining, lists that are too
//     long, and webhooks that a receiver checks with the programs of
//     docs/webhooks.md.
package conformance
