package engine

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
)

// GetExtendedAgentCard implements a2a.Service (specification §3.1.11).
func (e *Engine) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	if !e.gate.extended {
		return nil, a2a.Errorf(a2a.CodeUnsupportedOperation, "this agent has no extended agent card")
	}
	card := e.opts.extendedCard()
	if card == nil {
		return nil, a2a.ErrExtendedAgentCardNotConfigured
	}
	return card, nil
}
