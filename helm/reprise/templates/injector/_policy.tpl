{{/* CEL (cel.dev) that the policies share. All take the root. */}}

{{/*
Why a pod that asked for a sidecar is left alone, as (dict "items" (list (dict "name" "expression" "message"))),
in YAML. An expression is true for a pod that may have one. Same order and words as proxy/k8s/refusal.py.
Expressions stand by themselves: match conditions cannot use variables.
*/}}
{{- define "reprise.injector.refusals" -}}
{{- $annotations := "object.metadata.?annotations" -}}
items:
  - name: label-is-true
    expression: >-
      object.metadata.?labels[?"reprise.dev/inject"].orValue("true") == "true"
    message: 'label reprise.dev/inject is neither "true" nor "false"'
  - name: no-mirror-pod
    expression: >-
      !{{ $annotations }}[?"kubernetes.io/config.mirror"].hasValue()
    message: a static pod is told of by its node, it cannot change
  - name: no-windows
    expression: >-
      object.spec.?os.?name.orValue("") != "windows" &&
      object.spec.?nodeSelector[?"kubernetes.io/os"].orValue("") != "windows"
    message: there is no image for Windows
  - name: no-host-network
    expression: >-
      !object.spec.?hostNetwork.orValue(false)
    message: with hostNetwork its ports would be the node's; set OPENAI_BASE_URL to a gateway
  - name: name-is-free
    expression: >-
      object.metadata.?labels[?"reprise.dev/injected"].orValue("") == "true" ||
      !(object.spec.?initContainers.orValue([]) + object.spec.containers).exists(c, c.name == "reprise")
    message: it has a container reprise that is not the injector's; rename it
  - name: ports-are-free
    expression: >-
      !(object.spec.?initContainers.orValue([]) + object.spec.containers).exists(c,
      c.name != "reprise" && c.?ports.orValue([]).exists(p,
      p.containerPort in [11480, 11481] && p.?protocol.orValue("TCP") == "TCP"))
    message: a container has port 11480 or 11481, which the sidecar needs
{{- if not .Values.injector.sidecar.upstream }}
  - name: upstream-is-known
    expression: >-
      {{ include "reprise.injector.cel.configMap" . }} != "" ||
      {{ include "reprise.injector.cel.namedUpstream" . }} != "" ||
      (object.spec.?initContainers.orValue([]) + object.spec.containers).exists(c, c.name == "reprise")
    message: >-
      nobody says where the LLM server is; annotate the pod with reprise.dev/upstream or reprise.dev/config-map
{{- end }}
{{- if ne (include "reprise.injector.isNative" .) "true" }}
  - name: no-classic-job
    expression: >-
      {{ $annotations }}[?"reprise.dev/native-sidecar"].orValue("") == "true" ||
      (object.spec.?restartPolicy.orValue("Always") == "Always" &&
      !object.metadata.?ownerReferences.orValue([]).exists(o, o.kind == "Job"))
    message: a classic sidecar would keep a Job from ending; use native sidecars, or a gateway
{{- else if eq .Values.injector.mode "webhook" }}
  - name: no-classic-job
    expression: >-
      {{ $annotations }}[?"reprise.dev/native-sidecar"].orValue("") != "false" ||
      (object.spec.?restartPolicy.orValue("Always") == "Always" &&
      !object.metadata.?ownerReferences.orValue([]).exists(o, o.kind == "Job"))
    message: a classic sidecar would keep a Job from ending; use native sidecars, or a gateway
{{- end }}
{{- end -}}

{{/* The ConfigMap that the pod names; "" where it names none, or what cannot be one. */}}
{{- define "reprise.injector.cel.configMap" -}}
object.metadata.?annotations[?"reprise.dev/config-map"].orValue("").trim().find("^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")
{{- end -}}

{{/* The upstream that the pod names; "" where it names none, or what cannot be one. */}}
{{- define "reprise.injector.cel.namedUpstream" -}}
object.metadata.?annotations[?"reprise.dev/upstream"].orValue("").trim().find("^https?://[^/?#$@\\s]+(/[^?#$\\s]*)?$")
{{- end -}}

{{/* A text of the values as CEL. */}}
{{- define "reprise.injector.cel.text" -}}
{{- toString . | quote -}}
{{- end -}}

{{/*
Amounts of the sidecar as CEL; those that a pod may change by its variables. A limit that nobody set is left out.
Takes (dict "amounts" AMOUNTS "kind" "Request" or "Limit").
*/}}
{{- define "reprise.injector.cel.amounts" -}}
{
{{- range $name := list "cpu" "memory" -}}
?{{ $name | quote }}: optional.ofNonZeroValue(variables.{{ $name }}{{ $.kind }}),{{ " " }}
{{- end -}}
{{- range $name, $amount := omit .amounts "cpu" "memory" -}}
{{ $name | quote }}: {{ $amount | quote }},{{ " " }}
{{- end -}}
}
{{- end -}}
