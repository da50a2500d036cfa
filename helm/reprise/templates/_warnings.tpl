{{/* What works and may surprise. Takes the root. */}}
{{- define "reprise.warnings" -}}
{{- $gateway := .Values.gateway -}}
{{- $config := $gateway.config -}}
{{- if $gateway.enabled -}}
{{- if and (include "reprise.gateway.isSeveral" .) (not (include "reprise.gateway.hasRedis" .)) }}
WARNING: several replicas without Redis: each learns by itself, and a purge reaches one of them. Set redis.url.
{{- end }}
{{- if not (or $gateway.existingSecret $gateway.extraEnv $gateway.extraEnvFrom (dig "admin" "token" "" $config)) }}
WARNING: no admin token: purge, reload and what shows content are refused. Set gateway.existingSecret.
{{- end }}
{{- $grace := dig "shutdown" "grace" "30s" $config | toString }}
{{- if not (or (kindIs "invalid" $gateway.terminationGracePeriodSeconds) (contains "${" $grace)) }}
{{- $sum := add (int $gateway.preStopSleepSeconds) (include "reprise.seconds" $grace | int) 10 }}
{{- if lt (int $gateway.terminationGracePeriodSeconds) (int $sum) }}
WARNING: gateway.terminationGracePeriodSeconds is less than the {{ $sum }} s that draining may take: streams may be cut.
{{- end }}
{{- end }}
{{- $limit := include "reprise.bytes" (dig "limits" "memory" "" $gateway.resources) | int64 }}
{{- $workers := int (dig "workers" 1 $config) }}
{{- $needed := mul $workers (add (include "reprise.bytes" (dig "memory" "max_bytes" "256MiB" $config) | int64) 314572800) }}
{{- if and $limit (lt $limit $needed) }}
WARNING: gateway.resources.limits.memory is less than the {{ div $needed 1048576 }} MiB that a full cache may take (memory.max_bytes and 300 MiB for each of {{ $workers }}).
{{- end }}
{{- if and $gateway.networkPolicy.enabled (contains "${" (toJson $config.upstreams)) }}
WARNING: the network policy cannot see ports of upstreams behind ${...}. Add them by gateway.networkPolicy.extraEgress.
{{- end }}
{{- end }}
{{- if and .Values.injector.enabled (eq .Values.injector.failurePolicy "Fail") }}
WARNING: injector.failurePolicy is Fail: while the injector is down, pods that ask for a sidecar cannot start.
{{- end }}
{{- end -}}
