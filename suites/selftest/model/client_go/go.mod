module crashloop/client_go

go 1.26.0

require (
	k8s.io/client-go v0.37.1
	k8s.io/utils v0.0.0-20260626114624-be93311217bd
)

require golang.org/x/time v0.15.0 // indirect
