// Package kubefleet counts the replicas behind a Kubernetes Service for package
// fleet.
//
//	config, err := rest.InClusterConfig()
//	client, err := kubernetes.NewForConfig(config)
//	source, err := kubefleet.New(client, "shop", "checkout", whole, 24, nil)
//
// Over DNS it has three advantages: a pod that terminates counts until it is gone,
// one that is not ready counts too, and answers are not kept by caches, so that a
// share settles sooner. It needs leave to list EndpointSlices:
//
//	rules:
//	- apiGroups: ["discovery.k8s.io"]
//	  resources: ["endpointslices"]
//	  verbs: ["list"]
package kubefleet
