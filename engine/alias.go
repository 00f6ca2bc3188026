package engine

import "github.com/parley-a2a/parley/engine/internal/task"

// Limits bound what a task may use.
type Limits = task.Limits

// Standing is the state of a task of this process at one moment.
type Standing = task.Standing

// Waits says what a task that is not finished waits for.
type Waits = task.Waits

// What a task waits for.
const (
	WaitsForNothing  = task.WaitsForNothing
	WaitsForAgent    = task.WaitsForAgent
	WaitsForCapacity = task.WaitsForCapacity
	WaitsForRest     = task.WaitsForRest
	WaitsForClient   = task.WaitsForClient
	WaitsForNoAgent  = task.WaitsForNoAgent
	WaitsForProcess  = task.WaitsForProcess
	WaitsForOther    = task.WaitsForOther
	WaitsForStore    = task.WaitsForStore
)

// AgentOf returns the name of the agent that a task belongs to, "" for the one
// without a name, and the tenant of its caller, both from the Tenant of its key.
func AgentOf(tenant string) (name, callers string) { return task.AgentOf(tenant) }

// TenantOf is the inverse of AgentOf: the Tenant of the keys of an agent's tasks.
func TenantOf(name, callers string) string { return task.TenantOf(name, callers) }
