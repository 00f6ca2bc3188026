package metrics

// Limit is the cause of an error that refuses a call because of a limit, so that
// whoever counts refusals can tell the limits apart.
type Limit struct{ of string }

// The limits that calls may run into; others are counted by the code of their error.
var (
	LimitRate             = &Limit{"rate"}
	LimitStreams          = &Limit{"streams"}
	LimitRunning          = &Limit{"running"}
	LimitRunningPerCaller = &Limit{"running_per_caller"}
)

// Error is for logs: errors.As finds a *Limit in the error that it caused.
func (l *Limit) Error() string { return "limit: " + l.of }

// Name is the value of the label limit.
func (l *Limit) Name() string { return l.of }
