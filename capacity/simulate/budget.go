package simulate

// budgetFloor is how many retries a fresh budget holds, and the most it keeps:
// about those of ten seconds at one retry a second, so that a quiet caller may
// still retry.
const budgetFloor = 10

// A budget allows retries as a share of calls. Envoy's budget, which counts what
// is in flight, is Proxy.RetryPercent.
type budget struct {
	share   float64 // 0 is no budget
	balance float64
}

func newBudget(share float64) budget { return budget{share: share, balance: budgetFloor} }

// earn adds the share of one call.
func (b *budget) earn() { b.balance = min(b.balance+b.share, budgetFloor) }

// spend takes one retry, if there is one left.
func (b *budget) spend() bool {
	switch {
	case b.share == 0:
		return true
	case b.balance < 1:
		return false
	}
	b.balance--
	return true
}
