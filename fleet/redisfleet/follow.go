package redisfleet

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet"
)

// Follow leases and resizes until ctx is done. Then it goes back to the floor, gives
// each place back when it is free, and returns once all are: at the latest after the
// plan's Deadline and one more question to the store. Cancel ctx after the client's
// Shutdown, and it returns at once.
//
// With use the places that are in use and waited for draw the share, and a place
// taken away is given back as soon as it is free. Without it all replicas want the
// same, and a place is given back a Deadline after it was taken away. A call that
// may outlive the Deadline, as a stream does, needs use.
func (l *Leases) Follow(ctx context.Context, resize func(capacity.Plan) error, use func() fleet.Use) error {
	f := &follower{
		leases: l,
		member: member{
			id:    rand.Text(),
			floor: l.reserve.Floor(),
			pool:  l.reserve.Pool(),
			lease: l.options.Lease,
			hold:  l.reserve.Whole().Deadline,
		},
		resize:  resize,
		use:     use,
		answers: make(chan answer, 1),
	}
	err := f.run(ctx)
	if floorErr := f.leave(context.WithoutCancel(ctx)); floorErr != nil {
		return errors.Join(err, floorErr)
	}
	return err
}

// follower is one run of Follow. All of it belongs to Follow's goroutine, but for
// the one question that may be out.
type follower struct {
	leases *Leases
	member member
	resize func(capacity.Plan) error
	use    func() fleet.Use

	next    time.Time // when to ask again
	asking  bool
	answers chan answer
}

type answer struct {
	sent time.Time
	reply
	err error
}

func (f *follower) run(ctx context.Context) error {
	for {
		now := time.Now()
		f.member.lapse(now)
		if err := f.apply(); err != nil {
			return err
		}
		if !f.asking && !now.Before(f.next) {
			f.ask(context.WithoutCancel(ctx), f.member.ask(now, f.used()))
		}
		timer := time.NewTimer(time.Until(f.wake()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case a := <-f.answers:
			f.take(ctx, a)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// wake is when something is due: the next question, or the end of the share. While a
// question is out and there is no share, only its answer is.
func (f *follower) wake() time.Time {
	m := &f.member
	switch {
	case f.asking && m.target == 0:
		return time.Now().Add(m.lease)
	case f.asking || m.target > 0 && m.until.Before(f.next):
		return m.until
	}
	return f.next
}

// ask sends a request. It is tempting to do so right here, but a client may take
// long over it, whatever its context says, and the share has to end in time.
func (f *follower) ask(ctx context.Context, r request) {
	m := &f.member
	sent := time.Now()
	f.asking = true
	f.next = sent.Add(m.lease / renewals)
	go func() { // owned by Follow, which waits for its answer in leave
		limited, cancel := context.WithTimeout(ctx, (m.lease-m.lease/marginPart-m.hold)/2)
		defer cancel()
		got, err := f.leases.do(limited, r)
		f.answers <- answer{sent, got, err}
	}()
}

func (f *follower) take(ctx context.Context, a answer) {
	f.asking = false
	f.leases.note(ctx, a.members, a.err)
	if a.err == nil {
		f.member.take(a.sent, a.reply)
	}
}

// apply gives the client the share as it is now. It comes before every request,
// which tells the store what the client has given up.
func (f *follower) apply() error {
	l, was := f.leases, f.leases.Status().Places
	plan, err := l.reserve.Plan(f.member.target)
	if err != nil || plan.InFlight == was {
		return err
	}
	if err := f.resize(plan); err != nil {
		return err
	}
	if plan.InFlight < was {
		f.member.shrunk = time.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.Places = plan.InFlight
	return nil
}

// used asks the client, if it can be asked.
func (f *follower) used() *fleet.Use {
	if f.use == nil {
		return nil
	}
	u := f.use()
	return &u
}

// leave goes back to the floor, and gives back each place as it comes free, until all
// are or the Deadline has ended every call. It renews nothing that it does not use:
// a lease outlives its share by the Deadline.
func (f *follower) leave(ctx context.Context) error {
	m := &f.member
	m.target = 0
	err := f.apply()
	if f.asking {
		<-f.answers // it changes what is leased, and not what is used
	}
	for end := time.Now().Add(m.hold); ; {
		r := m.ask(time.Now(), f.used())
		if !time.Now().Before(end) {
			r.held = 0
		}
		r.want = leave
		f.ask(ctx, r)
		a := <-f.answers
		f.leases.note(ctx, a.members, a.err)
		if r.held == 0 {
			return err
		}
		<-time.After(time.Until(f.next))
	}
}
