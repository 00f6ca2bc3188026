package engine

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
)

// GetExtendedAgentCard implements a2a.Service (specification §3.1.11).
func (e *Engine) GetExtendedAgentCard(ctx context.Context, req *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	a, err := enter(ctx, req.Tenant, a2a.ScopeCardRead)
	if err != nil {
		return nil, err
	}
	if !e.gate.extended {
		return nil, a2a.Errorf(a2a.CodeUnsupportedOperation, "this agent has no extended agent card")
	}
	card, err := e.opts.extendedCard(ctx, a.caller)
	if err == nil && card == nil {
		err = a2a.ErrExtendedAgentCardNotConfigured
	}
	return card, err
}
