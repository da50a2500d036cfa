{{/* What the injector's templates share. All take the root, but for those that say otherwise. */}}

{{- define "reprise.injector.name" -}}
{{ include "reprise.fullname" . }}-injector
{{- end -}}

{{- define "reprise.injector.labels" -}}
{{ include "reprise.labels" (dict "root" . "component" "injector") }}
{{- end -}}

{{- define "reprise.injector.selectorLabels" -}}
{{ include "reprise.selectorLabels" (dict "root" . "component" "injector") }}
{{- end -}}

{{- define "reprise.injector.serviceAccountName" -}}
{{- $account := .Values.injector.serviceAccount -}}
{{- default (ternary (include "reprise.injector.name" .) "default" $account.create) $account.name -}}
{{- end -}}

{{/* "true" in the mode that a template is for: (dict "root" . "mode" "webhook"). */}}
{{- define "reprise.injector.isIn" -}}
{{- if and .root.Values.injector.enabled (eq .root.Values.injector.mode .mode) }}true{{ end -}}
{{- end -}}

{{/* "true" where the injector makes its own certificate. */}}
{{- define "reprise.injector.isSelfSigned" -}}
{{- if eq .Values.injector.tls.mode "selfSigned" }}true{{ end -}}
{{- end -}}

{{/* The Secret with the webhook's certificate, whoever writes it. */}}
{{- define "reprise.injector.tlsSecret" -}}
{{- default (printf "%s-tls" (include "reprise.injector.name" .)) .Values.injector.tls.existingSecret -}}
{{- end -}}

{{/* "true" or "false": whether sidecars are init containers that go on running. */}}
{{- define "reprise.injector.isNative" -}}
{{- $native := toString .Values.injector.nativeSidecar -}}
{{- if eq $native "auto" -}}
{{- semverCompare ">=1.29.0-0" .Capabilities.KubeVersion.Version -}}
{{- else -}}
{{- $native -}}
{{- end -}}
{{- end -}}

{{- define "reprise.injector.image" -}}
{{- default (include "reprise.image" .) .Values.injector.sidecar.image -}}
{{- end -}}

{{/* Requests of the sidecar, as JSON: cpu and memory are always there. */}}
{{- define "reprise.injector.requests" -}}
{{- $least := dict "cpu" "100m" "memory" "256Mi" -}}
{{- $requests := dict -}}
{{- range $name, $amount := merge (deepCopy (default dict .Values.injector.sidecar.resources.requests)) $least -}}
{{- $_ := set $requests $name (toString $amount) -}}
{{- end -}}
{{- toJson $requests -}}
{{- end -}}

{{- define "reprise.injector.limits" -}}
{{- $limits := dict -}}
{{- range $name, $amount := .Values.injector.sidecar.resources.limits -}}
{{- $_ := set $limits $name (toString $amount) -}}
{{- end -}}
{{- toJson $limits -}}
{{- end -}}

{{/* The file that says how sidecars look (reprise inject serve --settings). */}}
{{- define "reprise.injector.settings" -}}
{{- $sidecar := .Values.injector.sidecar -}}
{{- $settings := dict
      "image" (include "reprise.injector.image" .)
      "image_pull_policy" .Values.image.pullPolicy
      "native_sidecar" (include "reprise.injector.isNative" . | eq "true")
      "env" $sidecar.env
      "resources" (dict
        "requests" (include "reprise.injector.requests" . | fromJson)
        "limits" (include "reprise.injector.limits" . | fromJson)) -}}
{{- with $sidecar.upstream }}{{ $_ := set $settings "upstream" . }}{{ end -}}
{{- with $sidecar.logLevel }}{{ $_ := set $settings "log_level" . }}{{ end -}}
{{- toYaml $settings }}
run_as_user: {{ if kindIs "invalid" $sidecar.runAsUser }}null{{ else }}{{ int $sidecar.runAsUser }}{{ end }}
{{- end -}}

{{/* Namespaces in which no pod is looked at: a webhook there could keep the cluster, or itself, from starting. */}}
{{- define "reprise.injector.namespaces" -}}
key: kubernetes.io/metadata.name
operator: NotIn
values:
  {{- $own := list "kube-system" "kube-public" "kube-node-lease" .Release.Namespace (include "reprise.namespace" .) }}
  {{- concat $own .Values.injector.excludedNamespaces | uniq | toYaml | nindent 2 }}
{{- end -}}

{{/*
The two ways in which a pod asks for a sidecar. A `false` on either side wins: on the pod it matches
neither, and on the namespace the second wants the label not to be there.
*/}}
{{- define "reprise.injector.byNamespace" -}}
namespaceSelector:
  matchExpressions:
    - key: reprise.dev/inject
      operator: In
      values: ["true"]
    - {{- include "reprise.injector.namespaces" . | nindent 6 }}
objectSelector:
  matchExpressions:
    - key: reprise.dev/inject
      operator: NotIn
      values: ["false"]
    - {{- include "reprise.injector.notOurs" . | nindent 6 }}
{{- end -}}

{{- define "reprise.injector.byPod" -}}
namespaceSelector:
  matchExpressions:
    - key: reprise.dev/inject
      operator: NotIn
      values: ["true", "false"]
    - {{- include "reprise.injector.namespaces" . | nindent 6 }}
objectSelector:
  matchExpressions:
    - key: reprise.dev/inject
      operator: In
      values: ["true"]
    - {{- include "reprise.injector.notOurs" . | nindent 6 }}
{{- end -}}

{{/* Pods of the chart itself, wherever they are. */}}
{{- define "reprise.injector.notOurs" -}}
key: app.kubernetes.io/part-of
operator: NotIn
values: [reprise]
{{- end -}}

{{/* Only new pods: those of others cannot be given containers any more. */}}
{{- define "reprise.injector.newPods" -}}
- apiGroups: [""]
  apiVersions: [v1]
  resources: [pods]
  operations: [CREATE]
  scope: Namespaced
{{- end -}}
