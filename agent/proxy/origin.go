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

// OriginKey is a member of the metadata of artifacts and of status messages. Its value
// is an Origin, which says where they come from. With it a later message that refers to
// a task, or belongs to its context, is mapped to those of the agent behind the proxy.
const OriginKey = "https://github.com/parley-a2a/parley/blob/main/docs/proxy.md"

// Origin is the value of OriginKey: ids at the agent behind the proxy.
type Origin struct {
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId,omitempty"`
	MessageID string `json:"messageId,omitempty"`
}

// mark adds an origin to metadata.
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

// origin reads the origin that mark added.
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

// originOf finds the origin in a task of this server.
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
			continue // an origin that a caller claims is not trusted
		}
		if o, ok := origin(m.Metadata); ok {
			return o, true
		}
	}
	return Origin{}, false
}

// derive makes an id from its arguments, always the same one. The caller is one of
// them, because to the agent all callers are one, and their ids must never collide.
func derive(who a2a.Caller, what ...string) string {
	h := sha256.New()
	for _, s := range append([]string{who.Tenant, who.Subject}, what...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	id := uuid.UUID(h.Sum(nil)[:16])
	id[6] = id[6]&0x0f | 0x80 // version 8: a rule of our own
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// contexts remembers which context of the agent belongs to a caller's context, if it is
// not the one that was asked for. A forgotten one is found again in the context's
// tasks.
type contexts struct {
	mu    sync.Mutex
	of    map[string]string // derived key of our context → the agent's context
	order []string          // keys in the order in which they came
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

// maxSiblings is how many tasks of a context are searched.
const maxSiblings = 20

// contextFor returns the agent's context for the turn's context. theirs says that the
// agent made it; otherwise it is the one to ask for.
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

// references returns the agent's ids of the tasks that a message refers to. Tasks that
// it did not work on are left out.
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
