// Package vet finds the calls to other services that nothing bounds, and the
// clients that are built outside the shared factory.
//
// A report of the default profile, bugs, is a defect that follows from the
// code in sight: a call without any bound in time, damage to the whole process,
// or a context that was at hand and dropped. Where a value leaves sight (it
// is returned, exported, handed to unknown code, assigned from elsewhere) the
// analyzer is silent. The profile strict adds policy, the profile advice adds
// sizes worth a second look; both are off unless asked for.
//
// One analyzer holds all rules, because the rules share one index of the
// package. It needs assignments and uses, not values, so it does without SSA.
// Each message starts with the rule's ID: go vet prints neither an analyzer's
// name nor a category, and the ID is what a reader needs for a suppression.
package vet
