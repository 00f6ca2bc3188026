package dialect

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
)

// A card is read once and not for each task, so it is converted through its JSON, which
// is that of the message.

func cardPB(c *a2a.AgentCard) (*pb.AgentCard, error) {
	out := new(pb.AgentCard)
	return out, fromJSON(c.AppendJSON(nil), out)
}

func (r *reader) card(c *pb.AgentCard) *a2a.AgentCard {
	out := new(a2a.AgentCard)
	doc, err := toJSON(c)
	if err == nil {
		err = out.UnmarshalJSON(doc)
	}
	if err != nil {
		r.add("card", err.Error())
	}
	return out
}
