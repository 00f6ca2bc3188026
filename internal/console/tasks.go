package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/admin"
)

// row is a task in a list.
type row struct {
	DOM       string // the id of its element
	ID        string
	Address   string
	Agent     string // the agent's title
	Owner     string
	Words     string
	State     string // a CSS class
	Label     string
	Wait      string // what it waits for, if its state does not say
	Attempt   int32
	Changed   time.Time
	Now       time.Time
	Everybody bool // the list has all callers' tasks
	Models    bool // the list has a column for tokens
	Tokens    string

	task *a2a.Task // in a viewer's own list
	Asks *block    // in the inbox
}

type tasksData struct {
	Agents    []Agent
	States    []a2a.TaskState
	Spans     []string
	Everybody bool
	Models    bool // an agent is a model
	CanLive   bool

	Agent, State, Context, Owner, Since string
	Filtered                            bool

	Rows            []row
	Total           int
	Next            string
	More            []Agent // the agents that have older tasks, if there are several
	Live            string
	Fresh           bool // the list is fetched again every few seconds
	Paused, Resumed string
}

// spans are the choices of "changed since".
var spans = []string{"10m", "1h", "24h", "168h"}

// tasks lists tasks, latest change first: all callers' for a viewer who may see them, otherwise
// the viewer's own.
func (c *Console) tasks(w http.ResponseWriter, r *request) {
	d := tasksData{Agents: c.opts.Agents(), States: a2a.TaskStates(), Spans: spans, Everybody: c.seesAll(r), Models: c.models(),
		Agent: r.FormValue("agent"), State: r.FormValue("state"), Context: r.FormValue("context"), Owner: r.FormValue("owner"), Since: r.FormValue("since")}
	if d.Agent != "" && !slices.ContainsFunc(d.Agents, func(a Agent) bool { return a.Key() == d.Agent }) {
		c.noAgent(w, r)
		return
	}
	d.Filtered = d.Agent+d.State+d.Context+d.Owner+d.Since != ""
	list := c.own
	if d.Everybody {
		list = c.allTasks
	}
	next, err := list(r, &d)
	if err != nil {
		c.failed(w, r, err)
		return
	}
	q := r.URL.Query()
	if next != "" {
		q.Set("after", next)
		d.Next = "?" + q.Encode()
	}
	q = r.URL.Query()
	q.Set("live", "off")
	d.Paused = "?" + q.Encode()
	q.Del("live")
	d.Resumed = "?" + q.Encode()
	d.CanLive = r.FormValue("after") == ""
	d.Fresh = d.CanLive && r.FormValue("live") != "off"
	if d.Fresh && d.Everybody {
		d.Fresh = false
		d.Live = base(r.Request) + "/tasks/live?" + q.Encode()
	}
	c.show(w, r, "tasks", page{Title: "Tasks", Place: "tasks", Data: d})
}

// seesAll reports whether the viewer may see all callers' tasks.
func (c *Console) seesAll(r *request) bool {
	return c.opts.Admin != nil && r.viewer.May(a2a.ScopeAdminRead)
}

// answersTo is answers for one task: "" for another caller's task, which an operator may see
// but not answer.
func (c *Console) answersTo(r *request, a *Agent, id string) string {
	csrf := r.answers()
	if csrf == "" || !c.seesAll(r) {
		return csrf // other callers' tasks are not found
	}
	_, err := a.Service.GetTask(r.ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: new(int32)})
	if errors.Is(err, &a2a.Error{Code: a2a.CodeTaskNotFound}) {
		return ""
	}
	return csrf
}

// allTasks lists all callers' tasks that match the filters.
func (c *Console) allTasks(r *request, d *tasksData) (next string, err error) {
	q := admin.TaskQuery{Query: admin.Query{After: r.FormValue("after")}, Context: d.Context, State: d.State}
	if a, _ := c.find(r, d.Agent); a != nil { // it is one of d.Agents
		q.Agent = &a.Name
	}
	if d.Owner != "" {
		q.Owner = &d.Owner
	}
	if s, err := time.ParseDuration(d.Since); err == nil && s > 0 {
		q.Since = c.now().Add(-s)
	}
	list, err := c.opts.Admin.Tasks(r.ctx, q)
	if err != nil {
		return "", err
	}
	for i := range list.Tasks {
		d.Rows = append(d.Rows, c.rowOf(r, &list.Tasks[i]))
	}
	d.Total = list.Total
	return list.Next, nil
}

func (c *Console) rowOf(r *request, t *admin.Task) row {
	title, tokens := t.Agent, ""
	for _, a := range c.opts.Agents() {
		if a.Name == t.Agent {
			title, tokens = a.Card.Name, c.tokens(r, &a, t.ID, t.Tenant+" "+t.Owner, t.Updated)
		}
	}
	one := row{ID: t.ID, Address: taskAddress(r.Request, keyOf(t.Agent), t.ID), Agent: title, Owner: t.Owner, Words: words(t.Words),
		State: t.State, Label: strings.ReplaceAll(t.State, "-", " "), Attempt: t.Attempt, Changed: t.Updated, Now: c.now(), Everybody: true, Models: c.models(), Tokens: tokens}
	if t.Wait != nil && t.Wait.For != admin.WaitAgent && t.Wait.For != admin.WaitClient {
		one.Wait = t.Wait.Reason
	}
	one.DOM = "r" + prefixOf(one.Address+t.Tenant+t.Owner)
	return one
}

// rowName returns the id of the row of a viewer's own task.
func rowName(address string) string { return "r" + prefixOf(address) }

// words returns the text of a row.
func words(s string) string { return cmp.Or(calm(s), "a task without text") }

// own lists the viewer's tasks, agent by agent. For one agent, a page continues where the
// previous one ended; for several agents, each page has the newest tasks of each.
func (c *Console) own(r *request, d *tasksData) (next string, err error) {
	one := int32(1)
	req := a2a.ListTasksRequest{ContextID: d.Context, HistoryLength: &one}
	req.Status, _ = admin.ParseState(d.State)
	if s, err := time.ParseDuration(d.Since); err == nil && s > 0 {
		req.StatusTimestampAfter = c.now().Add(-s)
	}
	agents := slices.Clone(d.Agents) // the page needs d.Agents itself as a choice
	if d.Agent != "" {
		agents = slices.DeleteFunc(agents, func(a Agent) bool { return a.Key() != d.Agent })
	}
	for _, a := range agents {
		q := req
		if len(agents) == 1 {
			q.PageToken = r.FormValue("after")
		}
		res, err := a.Service.ListTasks(r.ctx, &q)
		if err != nil {
			return "", err
		}
		d.Total += int(res.TotalSize)
		switch {
		case len(agents) == 1:
			next = res.NextPageToken
		case res.NextPageToken != "":
			d.More = append(d.More, a)
		}
		for _, t := range res.Tasks {
			d.Rows = append(d.Rows, c.ownRow(r, &a, t))
		}
	}
	slices.SortStableFunc(d.Rows, func(x, y row) int { return y.Changed.Compare(x.Changed) })
	return next, nil
}

func (c *Console) ownRow(r *request, a *Agent, t *a2a.Task) row {
	said, address := "", taskAddress(r.Request, a.Key(), t.ID)
	if len(t.History) > 0 {
		said = firstWords(t.History[0])
	}
	return row{DOM: rowName(address), task: t, ID: t.ID, Address: address, Agent: a.Card.Name, Words: words(said),
		State: admin.StateWord(t.Status.State), Label: label(t.Status.State), Changed: t.Status.Timestamp, Now: c.now(),
		Models: c.models(), Tokens: c.tokens(r, a, t.ID, r.viewer.Tenant+" "+r.viewer.Subject, t.Status.Timestamp)}
}

// changes streams the rows of changed tasks, for the first page of a list.
func (c *Console) changes(w http.ResponseWriter, r *request) {
	if !c.seesAll(r) {
		http.Error(w, "only an operator sees the tasks of all callers", http.StatusForbidden)
		return
	}
	d := tasksData{Agent: r.FormValue("agent"), State: r.FormValue("state"), Context: r.FormValue("context"), Owner: r.FormValue("owner")}
	last := cmp.Or(r.Header.Get("Last-Event-ID"), r.FormValue("after"))
	out, end := c.stream(w, r, listGap)
	if out == nil {
		return
	}
	defer end()
	if out.write("retry: 500\n\n") != nil {
		return
	}
	for e, err := range c.opts.Admin.Events(r.ctx, last) {
		switch {
		case err != nil:
			return // the browser reconnects
		case e.Type == admin.EventReset:
			_ = out.send("gone") // the page is reloaded even if this fails
			return
		case e.Type != admin.EventTask || e.Task == nil:
			if out.comment() != nil {
				return
			}
			continue
		}
		t := e.Task
		// Events that a reader missed come without an id.
		x := c.rendered.get(fmt.Sprint(base(r.Request), " ", e.ID, " ", t.Name, " ", t.State, " ", t.Updated.UnixNano(), " ", t.Attempt))
		x.once.Do(func() {
			row := c.rowOf(r, t)
			x.dom, x.html = row.DOM, execute("row", row)
		})
		var to fragments
		to.remove(x.dom)
		if (d.Agent == "" || d.Agent == keyOf(t.Agent)) && (d.State == "" || d.State == t.State) && (d.Context == "" || d.Context == t.Context) && (d.Owner == "" || d.Owner == t.Owner) {
			to.put("rows", "prepend", x.html)
		}
		if out.sendID(x.dom, e.ID, to.take()) != nil {
			return
		}
	}
}

// rendered is the row of a changed task. The first viewer that needs it renders it for all.
type rendered struct {
	once      sync.Once
	dom, html string // set by once
}

// inbox lists the tasks that wait for the viewer, oldest first, with their questions.
func (c *Console) inbox(w http.ResponseWriter, r *request) {
	var rows []row
	var more []a2a.TaskState
	for _, state := range []a2a.TaskState{a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired} {
		d := tasksData{Agents: c.opts.Agents(), State: admin.StateWord(state)}
		next, err := c.own(r, &d)
		if err != nil {
			c.failed(w, r, err)
			return
		}
		rows = append(rows, d.Rows...)
		if next != "" || len(d.More) > 0 {
			more = append(more, state)
		}
	}
	slices.SortStableFunc(rows, func(x, y row) int { return x.Changed.Compare(y.Changed) })
	for i := range rows {
		o, s := &rows[i], rows[i].task.Status
		o.Asks = &block{ID: o.DOM + "q", Class: "asks", State: s.State, Task: o.Address, CSRF: r.answers(), Form: questionOf(s.Message), Inbox: true}
		if m := s.Message; m != nil {
			f := flow{task: o.Address}
			o.Asks.Parts = f.told(m)
		}
	}
	c.show(w, r, "inbox", page{Title: "Inbox", Place: "inbox", Data: struct {
		Rows []row
		More []a2a.TaskState // states in which older tasks wait, too
	}{rows, more}})
}

// count updates a page's number of waiting tasks if it has changed, and adds tasks to a chat
// that began elsewhere in its context.
func (c *Console) count(w http.ResponseWriter, r *request) {
	var out fragments
	n := c.waiting(r.ctx)
	if strconv.Itoa(n) != r.FormValue("known") {
		out.fill("waiting", execute("waiting", n))
	}
	if a, _ := c.find(r, r.FormValue("agent")); a != nil {
		list, _, _ := c.talks(r, a, r.Form["task"]) // on an error, the next poll brings them
		for _, t := range list {
			out.talk(t)
		}
	}
	w.Header().Set("Parley-Waiting", strconv.Itoa(n))
	sendFragments(w, &out)
}

// waiting counts the tasks that wait for the viewer; errors count as 0.
func (c *Console) waiting(ctx context.Context) (n int) {
	one, none := int32(1), int32(0)
	for _, a := range c.opts.Agents() {
		for _, state := range []a2a.TaskState{a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired} {
			res, err := a.Service.ListTasks(ctx, &a2a.ListTasksRequest{Status: state, PageSize: &one, HistoryLength: &none})
			if err == nil {
				n += int(res.TotalSize)
			}
		}
	}
	return n
}

// firstWords returns one line of a message's text.
func firstWords(m *a2a.Message) string {
	for _, p := range m.Parts {
		if p.Kind == a2a.PartText {
			return cut(p.Text)
		}
	}
	if len(m.Parts) > 0 && m.Parts[0].Kind == a2a.PartData {
		return cut(string(m.Parts[0].Data))
	}
	return "a file"
}

// cut returns a text as one line, shortened.
func cut(s string) string {
	s = strings.Join(strings.Fields(calm(s)), " ")
	if r := []rune(s); len(r) > 80 {
		s = string(r[:80]) + "…"
	}
	return s
}
