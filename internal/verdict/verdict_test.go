package verdict

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/offtake-go/offtake"
)

type teller struct{}

func (teller) Error() string                { return "it says so" }
func (teller) Answer() (int, time.Duration) { return 413, 3 * time.Second }

type twice struct{ last, earlier error }

func (t twice) Error() string   { return "twice" }
func (t twice) Unwrap() []error { return []error{t.last, t.earlier} }

func TestTheFirstThatSaysAnythingWins(t *testing.T) {
	busy := &offtake.Error{Err: offtake.ErrBusy, RetryAfter: 2 * time.Second}
	for _, tt := range []struct {
		err    error
		status int
		after  time.Duration
	}{
		{busy, 429, 2 * time.Second},
		{fmt.Errorf("pay: %w", busy), 429, 2 * time.Second},
		{offtake.ErrClosed, 503, 0},
		{context.Canceled, 499, 0},
		{context.DeadlineExceeded, 504, 0},
		{os.ErrDeadlineExceeded, 504, 0},
		{teller{}, 413, 3 * time.Second},
		{twice{busy, teller{}}, 429, 2 * time.Second},
		{twice{teller{}, busy}, 413, 3 * time.Second},
		{twice{context.DeadlineExceeded, busy}, 504, 0},
		{twice{errors.New("broken"), context.Canceled}, 499, 0},
		{errors.New("broken"), 502, 0},
	} {
		if status, after := Of(tt.err); status != tt.status || after != tt.after {
			t.Errorf("Of(%v) = %d, %v, want %d, %v", tt.err, status, after, tt.status, tt.after)
		}
	}
}
