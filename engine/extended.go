package engine

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
)

// GetExtendedAgentCard implements a2a.Service (specification §3.1.11).
func (s *service) GetExtendedAgentCard(ctx context.Context, req *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	a, err := s.enter(ctx, req.Tenant, a2a.ScopeCardRead)
	if err != nil {
		return nil, err
	}
	if !a.role.gate.extended {
		return nil, a2a.Errorf(a2a.CodeUnsupportedOperation, "this agent has no extended agent card")
	}
	var card *a2a.AgentCard
	if a.role.extended != nil {
		card, err = a.role.extended(ctx, a.caller)
	}
	if err == nil && card == nil {
		err = a2a.ErrExtendedAgentCardNotConfigured
	}
	return card, err
}
