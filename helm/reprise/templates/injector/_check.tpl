{{/*
What values.schema.json cannot say in words. Each mistake ends the rendering and names the values.
Takes the root.
*/}}
{{- define "reprise.injector.check" -}}
{{- $injector := .Values.injector -}}
{{- if eq $injector.mode "admissionPolicy" -}}
{{- if semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version -}}
{{- fail (printf "injector.mode admissionPolicy needs Kubernetes 1.36 or newer (MutatingAdmissionPolicy v1), and this is %s: set injector.mode to webhook" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if eq (toString $injector.nativeSidecar) "false" -}}
{{- fail "injector.mode admissionPolicy gives native sidecars only: set injector.nativeSidecar to auto, or injector.mode to webhook" -}}
{{- end -}}
{{- end -}}
{{- $request := get (include "reprise.injector.requests" . | fromJson) "memory" -}}
{{- $limit := get (include "reprise.injector.limits" . | fromJson) "memory" -}}
{{- if and $limit (gt (include "reprise.bytes" $request | int64) (include "reprise.bytes" $limit | int64)) -}}
{{- fail (printf "injector.sidecar.resources.requests.memory is %s, more than the limit, %s" $request $limit) -}}
{{- end -}}
{{- end -}}
