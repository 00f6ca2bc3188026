package console

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/admin"
)

// operatorViews are the views of the operator's page.
var operatorViews = []view{{"", "Now"}, {"settings", "Settings"}, {"keys", "Keys"}, {"audit", "Audit log"}}

type operateData struct {
	View  string
	Views []view

	Ready *admin.Readiness
	Nodes []admin.Node
	Store *admin.Store
	Work  *admin.Tasks

	Charts []chart
	Span   time.Duration // the time that the charts cover

	Settings []admin.Setting
	Draft    string
	Checked  bool
	Findings []admin.Finding

	Keys []admin.Key
	Made *admin.Key

	Records []admin.AuditRecord
	Next    string
	Event   string // which records to show; "": all
	Missing string // why there is no audit log
}

// operate shows the state of the server in a view. d has what a form did, if anything.
func (c *Console) operate(w http.ResponseWriter, r *request, d operateData) {
	d.Views = operatorViews
	var err error
	a := c.opts.Admin
	switch d.View {
	case "settings":
		d.Settings, err = a.Settings(r.ctx)
	case "keys":
		d.Keys, err = a.Keys(r.ctx)
	case "audit":
		var list *admin.AuditRecords
		d.Event = r.FormValue("event")
		list, err = a.Audit(r.ctx, admin.AuditQuery{Query: admin.Query{After: r.FormValue("after")}, Event: r.FormValue("event")})
		if list != nil {
			d.Records, d.Next = list.Records, list.Next
		}
		if of := new(admin.Error); errors.As(err, &of) && of.Status == http.StatusNotFound {
			d.Missing, err = of.Message, nil
		}
	default:
		d.View = ""
		if err = c.measure(r, &d); err == nil {
			err = d.now(r, a)
		}
	}
	if err != nil {
		c.failed(w, r, err)
		return
	}
	c.show(w, r, "operate", page{Title: titled("Operate", operatorViews, d.View), Place: "operate", Data: d})
}

// figures is the part of the page that is refreshed regularly: it requests nothing that is
// recorded in the audit log.
func (c *Console) figures(w http.ResponseWriter, r *request) {
	d := new(operateData)
	if err := c.measure(r, d); err != nil {
		c.failed(w, r, err)
		return
	}
	c.render(w, r.Request, "figures", page{Data: d})
}

func (c *Console) measure(r *request, d *operateData) (err error) {
	if d.Ready, err = c.opts.Admin.Readiness(r.ctx); err != nil || c.opts.Recent == nil {
		return err
	}
	if list := c.opts.Recent(); len(list) > 1 {
		d.Charts, d.Span = charts(list), list[len(list)-1].Time.Sub(list[0].Time).Round(time.Second)
	}
	return nil
}

func (d *operateData) now(r *request, a admin.API) (err error) {
	if d.Nodes, err = a.Nodes(r.ctx); err != nil {
		return err
	}
	if d.Store, err = a.Store(r.ctx); err != nil {
		return err
	}
	d.Work, err = a.Tasks(r.ctx, admin.TaskQuery{AtWork: true, Query: admin.Query{Limit: 20}})
	return err
}

// draft checks a draft of parley.yaml.
func (c *Console) draft(w http.ResponseWriter, r *request) {
	d := operateData{View: "settings", Checked: true, Draft: strings.ReplaceAll(r.FormValue("draft"), "\r\n", "\n")}
	var err error
	if d.Findings, err = c.opts.Admin.CheckSettings(r.ctx, []byte(d.Draft)); err != nil {
		c.failed(w, r, err)
		return
	}
	c.operate(w, r, d)
}

// key creates a key, which is shown once, or revokes one.
func (c *Console) key(w http.ResponseWriter, r *request) {
	d := operateData{View: "keys"}
	if id := r.FormValue("revoke"); id != "" {
		if _, err := c.opts.Admin.RevokeKey(r.ctx, id); err != nil {
			c.failed(w, r, err)
			return
		}
		c.operate(w, r, d)
		return
	}
	k := admin.NewKey{Name: r.FormValue("name"), Subject: r.FormValue("subject")}
	if role := r.FormValue("role"); role != "" {
		k.Roles = []string{role}
	}
	if s := r.FormValue("expires"); s != "" {
		day, err := time.Parse(time.DateOnly, s)
		if err != nil {
			c.fail(w, r.Request, http.StatusBadRequest, "No key was made", "expires: "+s+" is not a date: expected 2027-01-31.")
			return
		}
		k.Expires = day
	}
	var err error
	if d.Made, err = c.opts.Admin.CreateKey(r.ctx, k); err != nil {
		c.failed(w, r, err)
		return
	}
	c.operate(w, r, d)
}
