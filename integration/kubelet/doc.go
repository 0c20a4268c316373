// Package kubelet asks the probers of Kubernetes' own kubelet what they make of
// the readiness gate, the liveness handler and the gRPC health service, and its API
// server's rules what they make of the autoscaler. The autoscaler's arithmetic is in
// the command replicas.
//
// It is a module outside of the workspace, since that of Kubernetes needs a
// replacement for each of its parts, and would bring its versions to all others.
// The tests of module integration run it.
package kubelet
