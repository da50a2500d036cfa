{{/*
Binds a policy to pods that ask for a sidecar, either way: no pod is in both, so none is dealt with twice.
Takes (dict "root" . "kind" "ValidatingAdmissionPolicyBinding" "policy" NAME "spec" TEXT).
*/}}
{{- define "reprise.injector.bindings" -}}
{{- range $way := list "byNamespace" "byPod" }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: {{ $.kind }}
metadata:
  name: {{ $.policy }}-{{ $way | kebabcase }}
  labels:
    {{- include "reprise.injector.labels" $.root | nindent 4 }}
spec:
  policyName: {{ $.policy }}
  {{- with $.spec }}
  {{- . | nindent 2 }}
  {{- end }}
  matchResources:
    matchPolicy: Equivalent
    {{- include (printf "reprise.injector.%s" $way) $.root | nindent 4 }}
{{- end }}
{{- end -}}
