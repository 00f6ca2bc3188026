// Package proxy makes an agent of another A2A agent, of any version and binding,
// and gives it what this server has: durable tasks, streams that resume, webhooks.
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
// Each task here is one there: its id is recorded, and after a crash, a restart or a
// cut of either side the task is found by it and followed on from where the
// record ends. Artifacts keep their ids, names and order of chunks, statuses their
// messages; a question there is one here, and its answer goes there; a direct
// message stays one. A task that is cancelled here is cancelled there, and ends as it
// does there.
//
// A message is sent again only where the agent cannot have taken it or says that it
// knows it then (docs/extensions/retry-v1.md). Where it is not known what became of
// one, and there is no way to find out, the task fails and says so. So does one
// that the agent does not know any more.
//
// What callers show to be let in stays here; the agent is shown what Options has.
// To it all callers are one, so that ids of messages and contexts are made anew.
//
// docs/proxy.md has all of it, and what gets lost.
package proxy
