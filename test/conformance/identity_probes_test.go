package conformance

import (
	"crypto/rand"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// belongings are the names of what somebody has.
type belongings struct {
	tenant, context                string
	done, running, asking, authing string // tasks
	old                            string // a task whose id the client chose, of version 0.1
	config                         string // of a webhook; each of the tasks has one
	message, key                   string // of the send that began the task done
	token                          string // of the second page of a list
	after                          int64  // a position in the streams of all tasks
	text                           string // of the message
	own                            string // a task of the caller's own
	receiver                       string // of the caller's own
}

// each calls f with all that names something, and what it is called in answers
// that are compared.
func (b *belongings) each(f func(what string, id *string)) {
	f("tenant", &b.tenant)
	f("context", &b.context)
	f("done", &b.done)
	f("running", &b.running)
	f("asking", &b.asking)
	f("authing", &b.authing)
	f("old", &b.old)
	f("config", &b.config)
	f("message", &b.message)
	f("key", &b.key)
	f("token", &b.token)
}

func (b *belongings) tasks() []string {
	return []string{b.done, b.running, b.asking, b.authing, b.old}
}

// like returns names of the same shape that name nothing.
func (b *belongings) like() *belongings {
	c := *b
	c.each(func(_ string, id *string) { *id = shaped(*id) })
	return &c
}

// as returns the names as seen by somebody else.
func (b *belongings) as(own, receiver string) *belongings {
	c := *b
	c.own, c.receiver = own, receiver
	return &c
}

// placeholders are the names, each followed by what it is.
func (b *belongings) placeholders() (pairs []string) {
	b.each(func(what string, id *string) {
		if *id != "" {
			pairs = append(pairs, *id, "<"+what+">")
		}
	})
	return pairs
}

// shaped returns another string that looks the same.
func shaped(s string) string {
	if _, err := uuid.Parse(s); err == nil {
		return uuid.NewString()
	}
	pick := func(from string) rune {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(from))))
		if err != nil {
			panic(err)
		}
		return rune(from[n.Int64()])
	}
	return strings.Map(func(c rune) rune {
		switch {
		case c >= '0' && c <= '9':
			return pick("0123456789")
		case c >= 'a' && c <= 'z':
			return pick("abcdefghijklmnopqrstuvwxyz")
		case c >= 'A' && c <= 'Z':
			return pick("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		}
		return c
	}, s)
}

// greeting is what others say.
const greeting = "greetings"

// probe is a request that names what belongs to somebody.
type probe struct {
	what   string
	req    any
	header map[string]string
}

// probes are, for each operation, the requests that could learn of another's
// things or touch them. A new row of the operation table has to be here, too: a
// request for each way in which it can name something.
var probes = map[dialect.Op]func(b *belongings) []probe{
	dialect.SendMessage:                      sends,
	dialect.SendStreamingMessage:             sends,
	dialect.GetTask:                          gets,
	dialect.ListTasks:                        lists,
	dialect.CancelTask:                       cancels,
	dialect.SubscribeToTask:                  subscriptions,
	dialect.CreateTaskPushNotificationConfig: configCreations,
	dialect.GetTaskPushNotificationConfig:    configGets,
	dialect.ListTaskPushNotificationConfigs:  configLists,
	dialect.DeleteTaskPushNotificationConfig: configDeletions,
	dialect.GetExtendedAgentCard: func(*belongings) []probe {
		return []probe{{what: "plain", req: &a2a.GetExtendedAgentCardRequest{}}}
	},
}

func sends(b *belongings) (all []probe) {
	add := func(what string, m *a2a.Message, c *a2a.SendMessageConfiguration, header map[string]string) {
		m.Role = a2a.RoleUser
		if m.MessageID == "" {
			m.MessageID = uuid.NewString()
		}
		if m.Parts == nil {
			m.Parts = []*a2a.Part{a2a.TextPart(greeting)}
		}
		all = append(all, probe{what, &a2a.SendMessageRequest{Message: m, Configuration: c}, header})
	}
	hook := func(id string) *a2a.SendMessageConfiguration {
		return &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{ID: id, URL: b.receiver}}
	}
	for _, id := range b.tasks() {
		add("to the task", &a2a.Message{TaskID: id}, nil, nil)
		add("to the task in its context", &a2a.Message{TaskID: id, ContextID: b.context}, nil, nil)
		add("to the task in another context", &a2a.Message{TaskID: id, ContextID: uuid.NewString()}, nil, nil)
		add("to the task, with a webhook", &a2a.Message{TaskID: id}, hook(b.config), nil)
		add("to the task at a generation", &a2a.Message{TaskID: id}, &a2a.SendMessageConfiguration{IfGenerationMatch: new(int64(1))}, nil)
		add("to the task, not waiting", &a2a.Message{TaskID: id}, &a2a.SendMessageConfiguration{ReturnImmediately: true}, nil)
		add("to the task, with its message", &a2a.Message{TaskID: id, MessageID: b.message, Parts: []*a2a.Part{a2a.TextPart(b.text)}}, nil, nil)
	}
	again := func() *a2a.Message {
		return &a2a.Message{MessageID: b.message, Parts: []*a2a.Part{a2a.TextPart(b.text)}}
	}
	key := map[string]string{dialect.KeyHeader: b.key}
	add("the message once more, behind its first event", again(), nil, map[string]string{"Last-Event-ID": "1"})
	add("the message once more", again(), nil, nil)
	add("the message once more, with its key", again(), nil, key)
	add("the key with another message", &a2a.Message{}, nil, key)
	add("a new task in the context", &a2a.Message{ContextID: b.context}, nil, nil)
	add("a new task that refers to the others", &a2a.Message{ReferenceTaskIDs: b.tasks()}, nil, nil)
	add("a new task with the webhook's id", &a2a.Message{}, hook(b.config), nil)
	return all
}

func gets(b *belongings) (all []probe) {
	for _, id := range b.tasks() {
		all = append(all,
			probe{"plain", &a2a.GetTaskRequest{ID: id}, nil},
			probe{"with history", &a2a.GetTaskRequest{ID: id, HistoryLength: new(int32(10))}, nil},
			probe{"behind a generation", &a2a.GetTaskRequest{ID: id, CurrentGeneration: new(int64(1))}, nil})
	}
	return all
}

func lists(b *belongings) []probe {
	return []probe{
		{"all", &a2a.ListTasksRequest{IncludeArtifacts: true}, nil},
		{"the context", &a2a.ListTasksRequest{ContextID: b.context, HistoryLength: new(int32(10))}, nil},
		{"the context, by state", &a2a.ListTasksRequest{ContextID: b.context, Status: a2a.TaskStateCompleted, IncludeArtifacts: true}, nil},
		{"the context, recent ones", &a2a.ListTasksRequest{ContextID: b.context, StatusTimestampAfter: time.Unix(1e9, 0)}, nil},
		{"those that work", &a2a.ListTasksRequest{Status: a2a.TaskStateWorking}, nil},
		{"the next page", &a2a.ListTasksRequest{PageSize: new(int32(1)), PageToken: b.token}, nil},
		{"the next page of the context", &a2a.ListTasksRequest{PageSize: new(int32(1)), ContextID: b.context, PageToken: b.token}, nil},
	}
}

func cancels(b *belongings) (all []probe) {
	for _, id := range b.tasks() {
		all = append(all, probe{"plain", &a2a.CancelTaskRequest{ID: id}, nil})
	}
	return all
}

func subscriptions(b *belongings) (all []probe) {
	for _, id := range b.tasks() {
		all = append(all,
			probe{"afresh", &a2a.SubscribeToTaskRequest{ID: id}, nil},
			probe{"behind an event", &a2a.SubscribeToTaskRequest{ID: id}, map[string]string{"Last-Event-ID": strconv.FormatInt(b.after, 10)}},
			probe{"behind an event that does not exist", &a2a.SubscribeToTaskRequest{ID: id}, map[string]string{"Last-Event-ID": "1000000"}})
	}
	return all
}

func configCreations(b *belongings) (all []probe) {
	for _, id := range b.tasks() {
		all = append(all,
			probe{"a new one", &a2a.TaskPushNotificationConfig{TaskID: id, URL: b.receiver}, nil},
			probe{"in its place", &a2a.TaskPushNotificationConfig{TaskID: id, ID: b.config, URL: b.receiver}, nil})
	}
	return all
}

func configGets(b *belongings) (all []probe) {
	for _, id := range append(b.tasks(), b.own) {
		all = append(all, probe{"by its id", &a2a.GetTaskPushNotificationConfigRequest{TaskID: id, ID: b.config}, nil})
	}
	return append(all, probe{"without a task", &a2a.GetTaskPushNotificationConfigRequest{TaskID: b.config, ID: b.config}, nil})
}

func configLists(b *belongings) (all []probe) {
	for _, id := range append(b.tasks(), b.own) {
		all = append(all,
			probe{"all", &a2a.ListTaskPushNotificationConfigsRequest{TaskID: id}, nil},
			probe{"behind it", &a2a.ListTaskPushNotificationConfigsRequest{TaskID: id, PageToken: b.config[:1]}, nil})
	}
	return all
}

func configDeletions(b *belongings) (all []probe) {
	for _, id := range append(b.tasks(), b.own) {
		all = append(all, probe{"by its id", &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: id, ID: b.config}, nil})
	}
	return all
}
