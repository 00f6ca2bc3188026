package torture

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// hook is one configuration that a client made, and what came for it.
type hook struct {
	// set when it is made, then constant
	n       int
	version string // of the client that made it
	along   bool   // it came with the message
	url     string
	token   string
	bearer  bool   // it is to have a bearer token,
	secret  string // this one; empty: before 1.0, a JWT of the agent's
	fate    hookFate
	judge   *a2aclient.WebhookVerifier
	jwt     *a2aclient.WebhookVerifier // judges by the JWT alone; nil: there is none

	mu      sync.Mutex // protects the fields below
	id      string     // as the server calls it
	task    string     // empty while nobody knows
	unknown bool       // nobody knows whether it was made
	made    bool
	before  int64 // generation of the task up to which nothing is to come
	bound   int64 // and behind which all is
	posts   []*post
	ended   bool // the end has come, or nothing is to come
	deleted time.Time
	late    string // webhook-id of what came long after that
	refused string // webhook-id of the first that was answered with 410
}

// hookFate is what becomes of a hook before the end.
type hookFate int

const (
	hookStays   hookFate = iota
	hookDeleted          // by a client, after its first post
	hookGone             // its receiver answers 410 from the second delivery on
)

// post is one attempt, in the order in which they came.
type post struct {
	id       string // the webhook-id
	life     int    // how many lives of the server were to end by then
	steady   bool   // no life was about to end or to begin
	at       time.Time
	key      string // what was posted; empty: it did not come whole
	over     bool   // the task has ended with it
	accepted bool
	failure  failure
}

// config is the configuration as a client sends it.
func (h *hook) config(taskID string) *a2a.TaskPushNotificationConfig {
	c := &a2a.TaskPushNotificationConfig{TaskID: taskID, URL: h.url, Token: a2a.Secret(h.token)}
	if h.bearer {
		c.Authentication = &a2a.AuthenticationInfo{Scheme: "Bearer", Credentials: a2a.Secret(h.secret)}
	}
	if !h.single() {
		c.ID = fmt.Sprintf("hook-%d", h.n)
	}
	return c
}

// single reports whether the hook's version has one configuration for a task.
func (h *hook) single() bool { return h.version < "0.3" }

// whole reports whether the hook's version has tasks posted, not events.
func (h *hook) whole() bool { return h.version < "1.0" }

// exists says that the server knows the hook: all behind bound is to come. over
// means that this is nothing.
func (h *hook) exists(id, task string, before, bound int64, over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.id, h.made, h.before, h.bound = id, true, before, bound
	h.ended = h.ended || over
	if h.task == "" {
		h.task = task
	}
}

// lost says that nobody knows whether the server knows the hook.
func (h *hook) lost() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unknown = true
}

// waits reports whether something is still to come.
func (h *hook) waits() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended, h.refused != "", !h.deleted.IsZero():
		return false
	case h.unknown:
		return len(h.posts) > 0
	}
	return true
}

func (h *hook) String() string {
	how := "created"
	if h.along {
		how = "with the message"
	}
	return fmt.Sprintf("hook %d (%s, %s) of task %s", h.n, h.version, how, h.task)
}

// history is what came for a hook, as one reads it.
func (h *hook) history() string {
	var b strings.Builder
	for _, p := range h.posts {
		fmt.Fprintf(&b, "\t%s life %d %s accepted=%v %s %.300s\n", p.at.Format("05.000"), p.life, p.id, p.accepted, failureNames[p.failure], p.key)
	}
	return b.String()
}

// keyOfEvent is what an event is compared by: the log is read in a version that
// has more fields.
func keyOfEvent(ev *a2a.StreamResponse) string {
	var b strings.Builder
	switch {
	case ev.StatusUpdate != nil:
		s := &ev.StatusUpdate.Status
		fmt.Fprintf(&b, "%d ", s.Timestamp.UnixMilli())
		writeStatus(&b, s)
	case ev.ArtifactUpdate != nil:
		u := ev.ArtifactUpdate
		fmt.Fprintf(&b, "artifact %v %v ", u.Append, u.LastChunk)
		writeArtifact(&b, u.Artifact)
	}
	return b.String()
}

// keyOfTask is what a task is compared by, with what every version has of it.
func keyOfTask(t *a2a.Task) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v", t.Status.State)
	if at := t.Status.Timestamp; !at.IsZero() {
		fmt.Fprintf(&b, " %d", at.UnixMilli())
	}
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			fmt.Fprintf(&b, " %q", p.Text)
		}
	}
	return b.String()
}
