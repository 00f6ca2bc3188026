package engine

import (
	"context"

	"github.com/parley-a2a/parley/a2a"
)

// Push notifications are not offered, and the card says so: each of the four
// operations answers as specification §3.3.4 demands.

// CreateTaskPushNotificationConfig implements a2a.Service.
func (e *Engine) CreateTaskPushNotificationConfig(context.Context, *a2a.TaskPushNotificationConfig) (*a2a.TaskPushNotificationConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// GetTaskPushNotificationConfig implements a2a.Service.
func (e *Engine) GetTaskPushNotificationConfig(context.Context, *a2a.GetTaskPushNotificationConfigRequest) (*a2a.TaskPushNotificationConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// ListTaskPushNotificationConfigs implements a2a.Service.
func (e *Engine) ListTaskPushNotificationConfigs(context.Context, *a2a.ListTaskPushNotificationConfigsRequest) (*a2a.ListTaskPushNotificationConfigsResponse, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// DeleteTaskPushNotificationConfig implements a2a.Service.
func (e *Engine) DeleteTaskPushNotificationConfig(context.Context, *a2a.DeleteTaskPushNotificationConfigRequest) error {
	return a2a.ErrPushNotificationNotSupported
}

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
