// Package proxy turns another A2A agent, of any version and binding, into an agent of
// this server, and adds what this server has: durable tasks, streams that resume,
// webhooks.
//
//	p, err := proxy.New("https://agent.example", nil)
//	if err != nil {
//		return err
//	}
//	card, err := p.Card(ctx)
//	if err != nil {
//		return err
//	}
//	server, err := parley.New(card, p, nil)
//
// Each task here is one task there: its id is recorded, and after a crash, a restart or
// a lost connection of either side the task is found by it and followed from where the
// record ends. Artifacts keep their ids, names and order of chunks, statuses keep their
// messages. A question there becomes a question here, and its answer is sent there; a
// direct message stays one. A task that is cancelled here is cancelled there, and ends
// with the same state.
//
// A message is sent again only if the agent cannot have taken it, or promises to
// recognize it (docs/extensions/retry-v1.md). If the fate of a message cannot be found
// out, the task fails and says so. It also fails if the agent no longer knows its task.
//
// Callers' credentials stay here; the agent gets those of Options. To the agent all
// callers are one, so ids of messages and contexts are replaced.
//
// docs/proxy.md has the details, and what gets lost.
package proxy
