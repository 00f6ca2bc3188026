package console

import (
	"net/http"

	"github.com/parley-a2a/parley/internal/admin"
)

type webhooksData struct {
	Failing    bool
	Deliveries []admin.Delivery
	Next       string
	Letters    []admin.DeadLetter
	NextLetter string
	Did        *admin.Redelivered
}

// webhooks lists webhooks that deliver, that retry, and that gave up. did is what was just
// retried, if anything.
func (c *Console) webhooks(w http.ResponseWriter, r *request, did *admin.Redelivered) {
	failing := r.FormValue("failing") != ""
	list, err := c.opts.Admin.Deliveries(r.ctx, admin.DeliveryQuery{Query: admin.Query{After: r.FormValue("after")}, Failing: failing})
	if err != nil {
		c.failed(w, r, err)
		return
	}
	dead, err := c.opts.Admin.DeadLetters(r.ctx, admin.DeliveryQuery{Query: admin.Query{After: r.FormValue("dead")}})
	if err != nil {
		c.failed(w, r, err)
		return
	}
	d := webhooksData{failing, list.Deliveries, list.Next, dead.Letters, dead.Next, did}
	c.show(w, r, "webhooks", page{Title: "Webhooks", Place: "webhooks", Data: d})
}

// again retries deliveries that were given up: those of one configuration, or all.
func (c *Console) again(w http.ResponseWriter, r *request) {
	what := admin.Redelivery{Task: r.FormValue("task"), ID: r.FormValue("config"), All: r.FormValue("all") == "yes"}
	did, err := c.opts.Admin.Redeliver(r.ctx, what)
	if err != nil {
		c.failed(w, r, err)
		return
	}
	c.webhooks(w, r, did)
}

// deliveryClass returns the CSS class of a state.
func deliveryClass(state string) string {
	switch state {
	case admin.DeliveryRetrying:
		return "input-required"
	case admin.DeliveryDisabled:
		return "failed"
	case admin.DeliveryPending:
		return "working"
	}
	return "completed"
}
