{{/* A pod of `helm test`: a dict of root, name, and the Python program that asks. */}}
{{- define "reprise.testPod" -}}
{{- $root := .root -}}
apiVersion: v1
kind: Pod
metadata:
  name: {{ include "reprise.fullname" $root }}-test-{{ .name }}
  namespace: {{ include "reprise.namespace" $root }}
  labels:
    {{- include "reprise.labels" (dict "root" $root "component" "test") | nindent 4 }}
    reprise.dev/inject: "false"
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  {{- with include "reprise.imagePullSecrets" $root }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $root.Values.gateway.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: ask
      image: {{ include "reprise.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      command: [python, -c]
      args:
        - |
          {{- .program | trim | nindent 10 }}
      resources:
        requests:
          cpu: 10m
          memory: 32Mi
      {{- with $root.Values.gateway.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}
