package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"sync"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// OriginKey is the member of metadata, of artifacts and of messages about a
// status, that says where they come from: an Origin. By it a later message that
// refers to a task, or goes on in its context, finds those of the agent behind.
const OriginKey = "https://github.com/parley-a2a/parley/blob/main/docs/proxy.md"

// Origin is the value of OriginKey: ids of the agent behind the proxy.
type Origin struct {
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId,omitempty"`
	MessageID string `json:"messageId,omitempty"`
}

// mark returns metadata with an origin in it.
func mark(metadata a2a.JSON, o Origin) a2a.JSON {
	members := map[string]json.RawMessage{}
	if len(metadata) > 0 && json.Unmarshal(metadata, &members) != nil || members == nil {
		return metadata
	}
	value, err := json.Marshal(o)
	if err != nil {
		return metadata
	}
	members[OriginKey] = value
	out, err := json.Marshal(members)
	if err != nil {
		return metadata
	}
	return out
}

// origin reads what mark wrote.
func origin(metadata a2a.JSON) (o Origin, ok bool) {
	if len(metadata) == 0 {
		return o, false
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(metadata, &members) != nil || members[OriginKey] == nil {
		return o, false
	}
	return o, json.Unmarshal(members[OriginKey], &o) == nil && o.TaskID != ""
}

// originOf looks through a task of ours for where it comes from.
func originOf(t *a2a.Task) (Origin, bool) {
	if m := t.Status.Message; m != nil {
		if o, ok := origin(m.Metadata); ok {
			return o, true
		}
	}
	for _, art := range t.Artifacts {
		if o, ok := origin(art.Metadata); ok {
			return o, true
		}
	}
	for _, m := range t.History {
		if m.Role != a2a.RoleAgent {
			continue // what a caller says of origins is nobody's business
		}
		if o, ok := origin(m.Metadata); ok {
			return o, true
		}
	}
	return Origin{}, false
}

// derive makes an id from what it is for, always the same one. The caller is part
// of it: to the agent all callers are one, and ids of theirs must never meet.
func derive(who a2a.Caller, what ...string) string {
	h := sha256.New()
	for _, s := range append([]string{who.Tenant, who.Subject}, what...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	id := uuid.UUID(h.Sum(nil)[:16])
	id[6] = id[6]&0x0f | 0x80 // version 8: made by our own rule
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// contexts remembers which context of the agent's goes with one of a caller's,
// where it is not the one that was asked for. What it forgets is looked for in the
// context's tasks.
type contexts struct {
	mu    sync.Mutex
	of    map[string]string // what derive makes of ours → theirs
	order []string          // in which they came
}

const maxContexts = 10_000

func (c *contexts) put(ours, theirs string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.of[ours]; !known {
		if len(c.order) >= maxContexts {
			delete(c.of, c.order[0])
			c.order = c.order[1:]
		}
		c.order = append(c.order, ours)
	}
	c.of[ours] = theirs
}

func (c *contexts) get(ours string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[ours]
}

// maxSiblings is how many tasks of a context are looked through.
const maxSiblings = 20

// contextFor returns the agent's context for the turn's, and whether the agent
// made it: else it is the one that we ask for.
func (a *Agent) contextFor(ctx context.Context, t *agent.Turn, ours string) (id string, theirs bool, err error) {
	if known := a.contexts.get(ours); known != "" {
		return known, true, nil
	}
	n := 0
	for task, err := range t.Siblings(ctx) {
		if err != nil {
			return "", false, err
		}
		if o, ok := originOf(task); ok && o.ContextID != "" {
			a.contexts.put(ours, o.ContextID)
			return o.ContextID, true, nil
		}
		if n++; n >= maxSiblings {
			break
		}
	}
	return ours, false, nil
}

// references returns the agent's ids of the tasks that a message refers to; those
// that it did not work on are left out.
func references(ctx context.Context, t *agent.Turn) (ids []string, err error) {
	if len(t.Message().ReferenceTaskIDs) == 0 {
		return nil, nil
	}
	tasks, err := t.References(ctx)
	for _, task := range tasks {
		if o, ok := originOf(task); ok {
			ids = append(ids, o.TaskID)
		}
	}
	return ids, err
}
